// SPDX-License-Identifier: Apache-2.0

import { deepEqual, equal } from 'node:assert/strict';
import { test } from 'node:test';
import {
  findTerm,
  namesTerm,
  parseRange,
  rangeTerm,
  replaceTerm,
  splitFilter,
  TERM_GROUPS,
  withoutTerm,
  writeRange,
} from './terms';

const texts = (filter: string) => splitFilter(filter).map(term => term.text);

test('a filter is split as the server reads it', () => {
  const cases: Record<string, string[]> = {
    '': [],
    '  ': [],
    'size:>=4K -thread:0': ['size:>=4K', '-thread:0'],
    'fn:"operator new" x': ['fn:"operator new"', 'x'],
    'fn:/leaf|foo bar/ size:1': ['fn:/leaf|foo bar/', 'size:1'],
    'fn:/a{1,2}/,b -c': ['fn:/a{1,2}/,b', '-c'],
    'fn:/a\\/ b/ d': ['fn:/a\\/ b/', 'd'],
    'file:/usr/include/* -file:/opt/lib/': ['file:/usr/include/*', '-file:/opt/lib/'],
    'fn:a,/b c/ d': ['fn:a,/b c/', 'd'],
    'fn:a,-"b c",size:1': ['fn:a,-"b c",size:1'],
    'time:@mark:"a b"..@mark:c size<3': ['time:@mark:"a b"..@mark:c', 'size<3'],
    'fn:/unfinished a': ['fn:/unfinished', 'a'],
    'fn:"unfinished a': ['fn:"unfinished a'],
    'std::vector -a::b': ['std::vector', '-a::b'],
  };
  for (const [filter, wanted] of Object.entries(cases)) deepEqual(texts(filter), wanted, filter);
});

test('a term has a key and a value', () => {
  deepEqual(splitFilter('-chain-length:>=3')[0], {
    text: '-chain-length:>=3',
    negated: true,
    key: 'chain-length',
    value: '>=3',
  });
  equal(splitFilter('size>=4')[0]!.value, '>=4');
  equal(splitFilter('std::vector')[0]!.key, '');
});

test('ranges are two fields', () => {
  deepEqual(parseRange('>=4K'), { min: '4K', max: '' });
  deepEqual(parseRange('1..9'), { min: '1', max: '9' });
  deepEqual(parseRange('..9'), { min: '', max: '9' });
  deepEqual(parseRange('7'), { min: '7', max: '7' });
  for (const other of ['>4', '<4', '1,2', '"a"']) equal(parseRange(other), null, other);
  equal(writeRange({ min: '', max: '' }), '');
  equal(rangeTerm('size', { min: '7', max: '7' }), 'size:7');
  equal(rangeTerm('size', { min: '7', max: '' }), 'size:7..');
  equal(rangeTerm('time', { min: '1s', max: '1s' }), 'time:1s..1s');
  equal(rangeTerm('time', { min: '', max: '' }), '');
});

test('names are quoted where they must be', () => {
  equal(namesTerm('fn', 'operator new', false), 'fn:"operator new"');
  equal(namesTerm('fn', '/a b/', true), '-fn:/a b/');
  equal(namesTerm('fn', ' ', true), '');
});

test('the form changes one term and keeps the others', () => {
  const filter = 'size:1..2 x -fn:a fn:b';
  equal(replaceTerm(filter, 'size', false, 'size:3..'), 'size:3.. x -fn:a fn:b');
  equal(replaceTerm(filter, 'fn', true, ''), 'size:1..2 x fn:b');
  equal(replaceTerm(filter, 'depth', false, 'depth:4'), `${filter} depth:4`);
  equal(withoutTerm(filter, 1), 'size:1..2 -fn:a fn:b');
  equal(findTerm(filter, 'fn', true)!.value, 'a');
});

test('no key has two fields', () => {
  const keys = TERM_GROUPS.flatMap(group => group.fields.map(field => field.key));
  equal(new Set(keys).size, keys.length);
});
