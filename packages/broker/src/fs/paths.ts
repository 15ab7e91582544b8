import { posix } from 'node:path'

export interface SplitPath {
  readonly root: string
  readonly names: readonly string[]
}

/**
 * Path syntax of a platform. Inside the broker paths have one form: absolute, without `.` and `..`, separated by `/`.
 */
export interface PathModel {
  /** Parses a path, relative to `base`; or returns why it is not accepted. */
  read(given: string, base: string): { readonly path: string } | { readonly refused: string }
  /** In the syntax of the system. */
  write(path: string): string
  split(path: string): SplitPath
  /** The components of a link target, with `..`. Without a root it is relative to the link. undefined: not accepted. */
  splitTarget(target: string): { readonly root: string | undefined; readonly names: readonly string[] } | undefined
  /** Pseudo file systems. A pattern covers them only if its root is inside one. */
  readonly special: readonly string[]
}

export const joinNames = (folder: string, ...names: readonly string[]): string =>
  names.length === 0 ? folder : `${folder.endsWith('/') ? folder : `${folder}/`}${names.join('/')}`

/** Whether a path is the folder or inside it. */
export const liesIn = (path: string, folder: string): boolean =>
  path.startsWith(folder)
    && (path.length === folder.length || folder.endsWith('/') || path[folder.length] === '/')

/** The root is its own parent. */
export function parentOf(path: string, { split }: PathModel): { readonly folder: string; readonly name: string } {
  const { root, names } = split(path)
  return { folder: joinNames(root, ...names.slice(0, -1)), name: names.at(-1) ?? '.' }
}

const isName = (name: string): boolean => name !== '' && name !== '.'

export const POSIX_PATHS: PathModel = {
  read: (given, base) => ({ path: posix.resolve(base, given) }),
  write: (path) => path,
  split: (path) => ({ root: '/', names: path.split('/').filter(isName) }),
  splitTarget: (target) => ({
    root: target.startsWith('/') ? '/' : undefined, names: target.split('/').filter(isName),
  }),
  special: ['/proc', '/sys', '/dev'],
}

export const WINDOWS_PATHS: PathModel = {
  read(given, base) {
    const path = windowsPath(given, splitWindows(base))
    return path.ok ? { path: joinNames(path.root, ...path.names) } : { refused: path.why }
  },
  write: (path) => path.replaceAll('/', '\\'),
  split: splitWindows,
  splitTarget(target) {
    if (/^(?:[\\/]|[a-z]:)/i.test(target)) {
      const path = windowsPath(target, splitWindows(''))
      return path.ok ? path : undefined
    }
    const names = target.split(/[\\/]/).filter(isName)
    return names.every((name) => windowsPath(name, splitWindows('')).ok) ? { root: undefined, names } : undefined
  },
  special: [],
}

function splitWindows(path: string): SplitPath {
  const root = /^(?:[A-Z]:\/|\/\/[^/]+\/[^/]+(?:\/|$))/.exec(path)?.[0] ?? 'C:/'
  return { root: root.endsWith('/') ? root : `${root}/`, names: path.slice(root.length).split('/').filter(isName) }
}

export const pathsOf = (platform: NodeJS.Platform): PathModel => (platform === 'win32' ? WINDOWS_PATHS : POSIX_PATHS)

/** A path below the one a tool gave, in a form the tool can pass back. */
export function shownPath(given: string, names: readonly string[]): string {
  const folder = posix.normalize(given)
  return folder === '.' || folder === './' ? names.join('/') : `${folder.replace(/\/$/, '')}/${names.join('/')}`
}

/**
 * A parsed Windows path. Parsing uses the string alone, so that it can be tested anywhere. One file has many names on
 * Windows; a path with a second meaning is refused.
 */
export type WindowsPath =
  /** `C:/a/b` or `//server/share/a/b`: drive letter in upper case, names as written. */
  | { readonly ok: true; readonly root: string; readonly names: readonly string[] }
  | { readonly ok: false; readonly why: string }

const DRIVE = /^[a-z]:$/i
/** The prefix that bypasses Win32 path rules. Accepted only where a plain path would mean the same. */
const VERBATIM = /^\\(?:\\\?|\?\?)\\/
const DEVICE_SPACE = /^\\\\\.(?:\\|$)/
const FORBIDDEN = /[\p{Cc}<>"|?*]/u
/** Reserved device names, with or without an extension. Superscript digits count as digits. */
const DEVICE = /^(?:con|prn|aux|nul|conin\$|conout\$|clock\$|com[0-9¹²³]|lpt[0-9¹²³]) *(?:\.|$)/i
/** A generated short (8.3) name. The long name is accepted. */
const SHORT_NAME = /^[^~]{1,6}~[0-9]{1,6}(?:\.[^.]{0,3})?$/

/** `base` has the form of the result. */
export function windowsPath(
  given: string, base: { readonly root: string; readonly names: readonly string[] },
): WindowsPath {
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
  if (first.length > 2 || rest.length === 0) return refused('it is relative to the current folder of a drive')
  return named(driveRoot(first), [], rest)
}

/** After this prefix Windows interprets nothing, so the rest must not need interpretation. */
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
  const fault = [server, share].map((name) =>
    (name === '' || name === '.' || name === '..' ? 'it is not a share' : nameFault(name)))
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
  if (name.includes(':')) return 'it names a file stream'
  if (FORBIDDEN.test(name)) return 'it contains a character that is not allowed in names'
  if (/[. ]$/.test(name)) return 'one of its names ends in a dot or space, which Windows removes'
  if (DEVICE.test(name)) return 'it names a device'
  if (SHORT_NAME.test(name)) return 'one of its names looks like a short (8.3) name'
  return undefined
}

const driveRoot = (drive: string): string => `${drive.toUpperCase()}/`

const refused = (why: string): WindowsPath => ({ ok: false, why })
