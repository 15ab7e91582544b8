import type { JsonObject } from '@bulkhead/kit/json'

/** How one argument of a call becomes part of a request. */
export interface DescribedParameter {
  /** What a model calls it. */
  readonly argument: string
  /** What the server calls it. */
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly style: 'simple' | QueryStyle
  readonly explode: boolean
  /** Written as JSON, whatever it is. */
  readonly json: boolean
  /** Characters such as `/` and `:` stand as they are. */
  readonly reserved: boolean
}

export type QueryStyle = 'form' | 'spaceDelimited' | 'pipeDelimited' | 'deepObject'

/** How one field of a form is written: in a style, or as a document of its own. */
export type DescribedField =
  | Pick<DescribedParameter, 'explode' | 'reserved'> & { readonly style: QueryStyle }
  | { readonly style: 'json' | 'text' }

export interface DescribedBody {
  readonly argument: string
  readonly form: 'json' | 'urlencoded' | 'text'
  readonly mediaType: string
  /** Of a form, the fields whose encoding the document states. */
  readonly fields: Readonly<Record<string, DescribedField>>
}

/** One operation of a document: its definition and what a call needs. */
export interface DescribedOperation {
  readonly operationId: string
  /** In upper case. */
  readonly method: string
  /** The template, which begins with a slash. */
  readonly path: string
  readonly label: string
  readonly description: string
  readonly inputSchema: JsonObject
  readonly parameters: readonly DescribedParameter[]
  readonly body: DescribedBody | null
}

/** What of a document is used. */
export interface DescribedApi {
  /** What the document says its version is. */
  readonly version: string
  /** The URL of its first server, with the values of its variables; null where it names none. */
  readonly server: string | null
  readonly operations: readonly DescribedOperation[]
  /** What is left out, one line each. */
  readonly faults: readonly string[]
  /** Non-standard schema parts that were converted, one line each. */
  readonly mended: readonly string[]
  /** How many operations have no operationId, and are no tools for that. */
  readonly unnamed: number
}

/** What of a document is wanted. */
export interface Wanted {
  readonly operations: readonly string[] | null
  readonly tags: readonly string[] | null
  readonly paths: readonly string[] | null
  /** Whether the configuration says where operations are reached, whatever the document says. */
  readonly hasBaseUrl: boolean
}

/** Why a document, or an operation of it, cannot be used. The message is the end of a sentence. */
export class Unusable extends Error {
  override readonly name = 'Unusable'
}
