/* main.c - finds the command, nothing else. */
int main(void)
{
	return 2;
}
