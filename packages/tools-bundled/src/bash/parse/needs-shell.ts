/** Thrown while a text is read, where it means what only a shell can do. */
export class NeedsShell extends Error {
  override readonly name = 'NeedsShell'
}

/** Thrown where nobody can tell from the text what would be run. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable'
}
