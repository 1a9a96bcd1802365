#ifndef HEAPLAPSE_H
#define HEAPLAPSE_H
#endif
