/** A table's row as it is easiest to read: words with blanks between them. */
export const wordList = (text: string): readonly string[] => text.split(' ').filter((word) => word !== '')
