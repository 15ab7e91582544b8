import { posix } from 'node:path'
import { windowsPath } from './windows-path.ts'

export interface SplitPath {
  readonly root: string
  readonly names: readonly string[]
}

/** How paths are written on a system. Inside the broker they have one form: absolute, without `.` and `..`, `/` between names. */
export interface PathModel {
  /** What a text means, from the folder `base` if it is relative; or why it is not taken to mean anything. */
  read(given: string, base: string): { readonly path: string } | { readonly refused: string }
  /** For the system. */
  write(path: string): string
  split(path: string): SplitPath
  /** The names a link leads over, `..` among them; without a root it starts where it lies. undefined: nowhere that has a name. */
  splitTarget(target: string): { readonly root: string | undefined; readonly names: readonly string[] } | undefined
  /** Folders whose files are not files on a disk. A grant has them only when its root lies in one. */
  readonly special: readonly string[]
}

export const joinNames = (folder: string, ...names: readonly string[]): string =>
  names.length === 0 ? folder : `${folder.endsWith('/') ? folder : `${folder}/`}${names.join('/')}`

/** Whether a path is a folder or lies in it. */
export const liesIn = (path: string, folder: string): boolean => path === folder || path.startsWith(joinNames(folder, ''))

/** The top of everything is its own parent. */
export function parentOf(path: string, { split }: PathModel): { readonly folder: string; readonly name: string } {
  const { root, names } = split(path)
  return { folder: joinNames(root, ...names.slice(0, -1)), name: names.at(-1) ?? '.' }
}

const isName = (name: string): boolean => name !== '' && name !== '.'

export const POSIX_PATHS: PathModel = {
  read: (given, base) => ({ path: posix.resolve(base, given) }),
  write: (path) => path,
  split: (path) => ({ root: '/', names: path.split('/').filter(isName) }),
  splitTarget: (target) => ({ root: target.startsWith('/') ? '/' : undefined, names: target.split('/').filter(isName) }),
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
