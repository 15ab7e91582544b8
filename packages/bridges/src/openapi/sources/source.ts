import type { OpenapiConfig } from '@bulkhead/contract'
import type { DocumentFiles } from '../reading/bundle.ts'

/** Of a document, and of each of its files. */
export const MOST_BYTES = 16 * 1024 * 1024

/** The text of a document, before it is parsed. */
export type SourceRead =
  /** `digest` covers all files. */
  | { readonly ok: true; readonly digest: string } & DocumentFiles
  /** The message is the end of a sentence. */
  | { readonly ok: false; readonly message: string }

export const textOfBytes = (bytes: Buffer): string => bytes.toString('utf8').replace(/^\uFEFF/, '')

type Written = OpenapiConfig['document']
export type PinnedUrl = Extract<Written, { readonly url: string }>

/** A document at a URL. */
export const isPinnedUrl = (document: Written): document is PinnedUrl =>
  typeof document === 'object' && 'url' in document && !('openapi' in document)

/** The text of a document that the configuration contains. */
export function inlineText(document: Exclude<Written, string>): string {
  return 'text' in document && !('openapi' in document) ? document.text : JSON.stringify(document)
}
