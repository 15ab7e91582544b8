/** Why a file or folder name cannot be part of a package, or undefined. It must mean one thing on every machine and screen. */
export function findNameFault(name: string): string | undefined {
  // A name that is not UTF-8 arrives with replacement characters and could not be opened again.
  if (name.includes('\u{fffd}') || !name.isWellFormed()) return 'has a name that is not UTF-8'
  if (/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(name)) return 'has a name with control or invisible characters'
  if (/[\\:]/.test(name)) return 'has a name with a back-slash or a colon'
  return undefined
}

/** Two names with one folded form are one file where the file system ignores case or composes accents. */
export const foldName = (path: string): string => isAscii(path)
  ? path.toLowerCase() : path.normalize('NFC').toUpperCase().toLowerCase().normalize('NFC')

const isAscii = (text: string): boolean => /^[\u0020-\u007e]*$/.test(text)
