import { posix } from 'node:path'
import { windowsPath } from './windows-path.ts'

export interface SplitPath {
  readonly root: string
  readonly names: readonly string[]
}

/** Path syntax of a platform. Inside the broker paths have one form: absolute, without `.` and `..`, separated by `/`. */
export interface PathModel {
  /** Parses a path, relative to `base`; or says why it is not accepted. */
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
export const liesIn = (path: string, folder: string): boolean => path === folder || path.startsWith(joinNames(folder, ''))

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

/** A path below the one a tool gave, in a form the tool can pass back. */
export function shownPath(given: string, names: readonly string[]): string {
  const folder = posix.normalize(given)
  return folder === '.' || folder === './' ? names.join('/') : `${folder.replace(/\/$/, '')}/${names.join('/')}`
}
