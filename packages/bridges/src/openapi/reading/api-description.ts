import type { JsonObject } from '@bulkhead/kit/json'

/** How one argument of a call becomes part of a request. */
export interface DescribedParameter {
  /** The name of the argument for the model. */
  readonly argument: string
  /** The name of the parameter in the request. */
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly style: 'simple' | QueryStyle
  readonly explode: boolean
  /** Serialized as JSON. */
  readonly json: boolean
  /** Characters such as `/` and `:` are not escaped. */
  readonly reserved: boolean
}

export type QueryStyle = 'form' | 'spaceDelimited' | 'pipeDelimited' | 'deepObject'

/** The encoding of a form field: a query style, JSON or text. */
export type DescribedField =
  | Pick<DescribedParameter, 'explode' | 'reserved'> & { readonly style: QueryStyle }
  | { readonly style: 'json' | 'text' }

export interface DescribedBody {
  readonly argument: string
  readonly form: 'json' | 'urlencoded' | 'text'
  readonly mediaType: string
  /** Form fields with an encoding in the document. */
  readonly fields: Readonly<Record<string, DescribedField>>
}

/** One operation of a document: its definition, and how to send a call. */
export interface DescribedOperation {
  readonly operationId: string
  /** In upper case. */
  readonly method: string
  /** The path template. Starts with a slash. */
  readonly path: string
  readonly label: string
  readonly description: string
  readonly inputSchema: JsonObject
  readonly parameters: readonly DescribedParameter[]
  readonly body: DescribedBody | null
}

/** The parts of a document that are used. */
export interface DescribedApi {
  /** The version that the document declares. */
  readonly version: string
  /** The URL of its first server, with its variables replaced. null if there is none. */
  readonly server: string | null
  readonly operations: readonly DescribedOperation[]
  /** Operations that cannot be used, one line each. */
  readonly faults: readonly string[]
  /** Non-standard schema parts that were converted, one line each. */
  readonly mended: readonly string[]
  /** Number of operations without an operationId. They are not offered as tools. */
  readonly unnamed: number
}

/** The filters of the configuration. */
export interface Wanted {
  readonly operations: readonly string[] | null
  readonly tags: readonly string[] | null
  readonly paths: readonly string[] | null
  /** Whether the configuration has a base URL, which overrides the servers of the document. */
  readonly hasBaseUrl: boolean
}

/** A document or an operation cannot be used. The message is the end of a sentence. */
export class Unusable extends Error {
  override readonly name = 'Unusable'
}
