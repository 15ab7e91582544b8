import { hash } from 'node:crypto'
import { posix } from 'node:path'

/** A file that an API document refers to. */
export interface PartFile {
  readonly text: string
  /** Lower-case hex sha512 of its bytes. */
  readonly digest: string
}

/** The files of a document by their paths, relative to its folder. null: it cannot be read. */
export type DocumentParts = ReadonlyMap<string, PartFile | null>

const MOST_PARTS = 4_000
const MOST_CHARS = 32 * 1024 * 1024
const VALUE = /^\$ref["']?\s{0,8}:\s{0,8}(?:"([^"\n]{1,1024})"|'([^'\n]{1,1024})'|([^\s"',}\]]{1,1024}))/

/**
 * Finds all files that a document refers to, directly or through other files. Yields the path of each, and takes its
 * content. `name`: the file name of the document. The text is searched, not parsed, so it may find too many.
 */
export function* findParts(name: string, text: string): Generator<string, DocumentParts, PartFile | null> {
  const parts = new Map<string, PartFile | null>()
  const pending: { readonly path: string; readonly text: string }[] = [{ path: name, text }]
  let chars = text.length
  for (let file = pending.shift(); file !== undefined; file = pending.shift()) {
    for (const reference of referencesIn(file.text)) {
      const path = partPath(file.path, reference)
      if (path === undefined || path === name || parts.has(path) || parts.size >= MOST_PARTS) continue
      const part = chars > MOST_CHARS ? null : yield path
      parts.set(path, part)
      if (part === null) continue
      chars += part.text.length
      pending.push({ path, text: part.text })
    }
  }
  return parts
}

function referencesIn(text: string): ReadonlySet<string> {
  const found = new Set<string>()
  for (let at = text.indexOf('$ref'); at >= 0; at = text.indexOf('$ref', at + 4)) {
    const [, double, single, plain] = VALUE.exec(text.slice(at, at + 1_100)) ?? []
    const reference = double ?? single ?? plain
    if (reference !== undefined && !reference.startsWith('#')) found.add(reference.replace(/#.*$/s, ''))
  }
  return found
}

/** The path of a reference in a file, without its fragment. undefined if it leaves the folder of the document. */
export function partPath(from: string, reference: string): string | undefined {
  const [file = ''] = reference.split('#')
  if (file === '' || /^[A-Za-z][A-Za-z0-9+.-]*:|^[/~]|[\\\0]/.test(file)) return undefined
  try {
    const path = posix.join(posix.dirname(from), decodeURIComponent(file))
    return path.startsWith('../') || path === '..' || /[\\\0]/.test(path) ? undefined : path
  } catch {
    return undefined
  }
}

/** One digest for a document and its files. A document without further files has its own. */
export function documentDigest(own: string, parts: DocumentParts): string {
  if (parts.size === 0) return own
  const lines = [...parts].map(([path, part]) => JSON.stringify([path, part?.digest ?? null])).toSorted()
  return hash('sha512', [own, ...lines].join('\n'))
}
