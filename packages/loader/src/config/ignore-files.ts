import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, statSync, type BigIntStats } from 'node:fs'
import { isAbsolute, join, relative, sep } from 'node:path'
import { IGNORE_FILE, type IgnoredFiles } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { Gitignore } from '@bulkhead/kit/gitignore'

/** A longer file would slow down every use of a path. */
const MOST_BYTES = 256 * 1024

/**
 * The ignore files of workspaces. It is read again when it changes, without a reload: it only forbids, so it counts in a
 * project that is not trusted too.
 */
export class IgnoreFiles {
  readonly #files = new Map<string, IgnoreFile>()
  readonly #known = new Map<string, { readonly files: readonly IgnoreFile[]; readonly ignored: IgnoredFiles }>()

  /** `roots`: canonical folders. undefined if none of them has an ignore file. The same object until one changes. */
  of(roots: readonly string[]): IgnoredFiles | undefined {
    const files = roots.flatMap((root) => this.#present(root) ?? [])
    if (files.length === 0) return undefined
    const key = roots.join('\0')
    const known = this.#known.get(key)
    if (known?.files.length === files.length && known.files.every((file, at) => file === files[at])) return known.ignored
    const ignored = ignoredBy(files)
    this.#known.set(key, { files, ignored })
    return ignored
  }

  #present(root: string): IgnoreFile | undefined {
    const path = join(root, IGNORE_FILE)
    const stamp = stampOf(path)
    const known = this.#files.get(root)
    if (known?.stamp === stamp) return known
    const file = stamp === undefined ? undefined : { root, path, stamp, ...read(path) }
    if (file) this.#files.set(root, file)
    else this.#files.delete(root)
    return file
  }
}

interface IgnoreFile {
  readonly root: string
  readonly path: string
  readonly stamp: string
  readonly patterns?: Gitignore
  /** Why everything is excluded. */
  readonly fault?: string
}

/** undefined if nothing has this name. A name that cannot be looked at is not absent. */
function stampOf(path: string): string | undefined {
  try {
    const found = lstatSync(path, { bigint: true, throwIfNoEntry: false })
    return found && stampIn(found)
  } catch (error) {
    return `unknown: ${messageOf(error)}`
  }
}

const stampIn = ({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string => [dev, ino, size, mtimeNs, ctimeNs].join(' ')

function read(path: string): Pick<IgnoreFile, 'patterns' | 'fault'> {
  try {
    // A link could lead to any file, and a pipe would block.
    const descriptor = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0))
    try {
      const found = fstatSync(descriptor)
      if (!found.isFile()) return { fault: 'it is no regular file' }
      if (found.size > MOST_BYTES) return { fault: `it has more than ${MOST_BYTES} bytes` }
      return { patterns: new Gitignore(readFileSync(descriptor, 'utf8')) }
    } finally {
      closeSync(descriptor)
    }
  } catch (error) {
    return { fault: messageOf(error).replace(/\.$/, '') }
  }
}

function ignoredBy(files: readonly IgnoreFile[]): IgnoredFiles {
  return {
    files: files.map(({ path, fault }) => ({ path, ...(fault !== undefined && { fault }) })),
    lineFor(capability, path) {
      for (const file of files) {
        const reason = reasonIn(file, capability, path)
        if (reason !== undefined) return reason
      }
      return undefined
    },
  }
}

function reasonIn(file: IgnoreFile, capability: 'fs.read' | 'fs.write', path: string): string | undefined {
  const inside = relative(file.root, path)
  const names = inside.split(sep).filter((name) => name !== '')
  if (names[0] === '..' || isAbsolute(inside)) return undefined
  const isItself = names.length === 1 && names[0] === IGNORE_FILE
  if (capability === 'fs.write' && isItself) return `${file.path}, which only a person changes,`
  if (file.patterns === undefined) return `${file.path}, which cannot be used because ${file.fault},`
  const line = file.patterns.lineFor(names, () => isFolder(path))
  return line === undefined ? undefined : `the line "${line}" of ${file.path}`
}

/** What cannot be looked at counts as a folder: patterns for folders apply. */
function isFolder(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
  } catch {
    return true
  }
}
