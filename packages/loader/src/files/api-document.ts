import { basename, dirname, join } from 'node:path'
import { documentDigest, findParts, type PartFile } from '@bulkhead/kit/document-parts'
import { sha512 } from '../model/digest.ts'
import { readRegularFile } from './read-file.ts'

/** An API document on disk, with the files that it refers to. */
export interface ApiDocument {
  /** Of all of them. null if the document cannot be read. */
  readonly digest: string | null
  /** The absolute paths of all files, also of those that cannot be read. The document is the first. */
  readonly files: readonly string[]
}

/** Follows no link. */
export function readApiDocument(path: string, maxBytes: number): ApiDocument {
  const read = (place: string): PartFile | null => {
    const file = readRegularFile(place, { maxBytes })
    if (!file.ok) return null
    return { text: Buffer.from(file.bytes).toString('utf8').replace(/^\uFEFF/, ''), digest: sha512(file.bytes) }
  }
  const document = read(path)
  if (document === null) return { digest: null, files: [path] }
  const search = findParts(basename(path), document.text)
  let next = search.next()
  while (!next.done) next = search.next(read(join(dirname(path), next.value)))
  const parts = next.value
  return {
    digest: documentDigest(document.digest, parts), files: [path, ...parts.keys().map((part) => join(dirname(path), part))],
  }
}
