/** What most file systems hold of one name. */
const NAME_BYTES = 255
const PATH_CHARS = 1_024

/** Why a file or folder name cannot be part of a package, or undefined. It must mean one thing on every machine and screen. */
export function findNameFault(name: string, platform = process.platform): string | undefined {
  // A name that is not UTF-8 arrives with replacement characters and could not be opened again.
  if (name.includes('\u{fffd}') || !name.isWellFormed()) return 'has a name that is not UTF-8'
  if (/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(name)) return 'has a name with control or invisible characters'
  if (/[\\:]/.test(name)) return 'has a name with a back-slash or a colon'
  if (Buffer.byteLength(name) > NAME_BYTES) return `has a name of more than ${NAME_BYTES} bytes`
  return platform === 'win32' ? findWindowsFault(name) : undefined
}

/** Why a path cannot be part of a package, whatever its names are, or undefined. */
export const findPathFault = (path: string): string | undefined =>
  path.length > PATH_CHARS ? `has a path of more than ${PATH_CHARS} characters` : undefined

/** With or without an extension, and with spaces before it; the superscript digits count as digits. */
const DEVICE = /^(?:con|prn|aux|nul|conin\$|conout\$|clock\$|com[0-9¹²³]|lpt[0-9¹²³]) *(?:\.|$)/i

/**
 * Why Windows would write something else under a name, or nothing, or undefined. There such a package is refused; elsewhere it does no
 * harm to whoever has it, so that only its publisher, who can rename the file, is refused.
 */
export function findWindowsFault(name: string): string | undefined {
  if (/[<>"|?*]/.test(name)) return 'has a name with one of < > " | ? *, which Windows does not allow'
  if (/[. ]$/.test(name)) return 'has a name that ends in a dot or a space, which Windows drops'
  return DEVICE.test(name) ? 'has a name that means a device on Windows' : undefined
}

/** Two names with one folded form are one file where the file system ignores case or composes accents. */
export const foldName = (path: string): string => isAscii(path)
  ? path.toLowerCase() : path.normalize('NFC').toUpperCase().toLowerCase().normalize('NFC')

const isAscii = (text: string): boolean => /^[\u0020-\u007e]*$/.test(text)
