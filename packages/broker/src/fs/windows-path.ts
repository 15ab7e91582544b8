/**
 * What a text means as a path on Windows, worked out from the text alone, so that it can be tried anywhere. One file has
 * many names there, and what a name means depends on which way it is written; whatever has a second meaning is refused
 * instead of guessed at.
 */
export type WindowsPath =
  /** `C:/a/b` or `//server/share/a/b`: drive letters in upper case, `/` between names, names as they were written. */
  | { readonly ok: true; readonly root: string; readonly names: readonly string[] }
  | { readonly ok: false; readonly why: string }

const DRIVE = /^[a-z]:$/i
/** Of the object manager, past all rules of Win32: only what a plain path would mean too is taken. */
const VERBATIM = /^\\(?:\\\?|\?\?)\\/
const DEVICE_SPACE = /^\\\\\.(?:\\|$)/
const FORBIDDEN = /[\p{Cc}<>"|?*]/u
/** With or without an extension, and with spaces before it; the superscript digits count as digits. */
const DEVICE = /^(?:con|prn|aux|nul|conin\$|conout\$|clock\$|com[0-9¹²³]|lpt[0-9¹²³]) *(?:\.|$)/i
/** What the system makes of a longer name. Who means the longer name can write it. */
const SHORT_NAME = /^[^~]{1,6}~[0-9]{1,6}(?:\.[^.]{0,3})?$/

/** `base` is a path in the form of what this returns. */
export function windowsPath(given: string, base: { readonly root: string; readonly names: readonly string[] }): WindowsPath {
  if (DEVICE_SPACE.test(given.replaceAll('/', '\\'))) return refused('it names a device')
  if (VERBATIM.test(given)) return verbatim(given.replace(VERBATIM, ''))
  const text = given.replaceAll('/', '\\')
  if (VERBATIM.test(text)) return refused('it mixes a verbatim prefix with slashes')
  if (text.startsWith('\\\\')) {
    const [server = '', share = '', ...names] = text.slice(2).split('\\')
    return ofShare(server, share, names)
  }
  if (text.startsWith('\\')) return named(base.root, [], text.split('\\'))
  const [first = '', ...rest] = text.split('\\')
  if (!DRIVE.test(first.slice(0, 2))) return named(base.root, base.names, [first, ...rest])
  if (first.length > 2 || rest.length === 0) return refused('it is relative to the folder a drive happens to be in')
  return named(driveRoot(first), [], rest)
}

/** Nothing in such a path is interpreted: a name that a plain path would read otherwise has no plain spelling. */
function verbatim(rest: string): WindowsPath {
  if (rest.includes('/')) return refused('it has slashes after a verbatim prefix')
  const [first = '', ...names] = rest.split('\\')
  if (names.some((name, index) => name === '.' || name === '..' || (name === '' && index < names.length - 1))) {
    return refused('it has empty names or dots after a verbatim prefix')
  }
  if (DRIVE.test(first) && names.length > 0) return named(driveRoot(first), [], names)
  if (first.toUpperCase() !== 'UNC') return refused('its verbatim prefix is followed by neither a drive nor a share')
  const [server = '', share = '', ...below] = names
  return ofShare(server, share, below)
}

function ofShare(server: string, share: string, names: readonly string[]): WindowsPath {
  const fault = [server, share].map((name) => (name === '' || name === '.' || name === '..' ? 'it is no share' : nameFault(name)))
    .find((why) => why !== undefined)
  return fault === undefined ? named(`//${server}/${share}/`, [], names) : refused(fault)
}

function named(root: string, above: readonly string[], given: readonly string[]): WindowsPath {
  const names = [...above]
  for (const name of given) {
    if (name === '' || name === '.') continue
    if (name === '..') {
      names.pop()
      continue
    }
    const why = nameFault(name)
    if (why !== undefined) return refused(why)
    names.push(name)
  }
  return { ok: true, root, names }
}

function nameFault(name: string): string | undefined {
  if (name.includes(':')) return 'it names a stream of a file'
  if (FORBIDDEN.test(name)) return 'it has a character that no name can have'
  if (/[. ]$/.test(name)) return 'one of its names ends in a dot or a space, which the system drops'
  if (DEVICE.test(name)) return 'it names a device'
  if (SHORT_NAME.test(name)) return 'one of its names looks like the short form of another'
  return undefined
}

const driveRoot = (drive: string): string => `${drive.toUpperCase()}/`

const refused = (why: string): WindowsPath => ({ ok: false, why })
