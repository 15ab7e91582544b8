import { isJsonObject, targetOf, type Json, type JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'

/** How one argument of a call becomes part of a request. */
export interface DescribedParameter {
  /** The name of the argument for the model. */
  readonly argument: string
  /** The name of the parameter in the request. */
  readonly name: string
  readonly in: 'path' | 'query' | 'header' | 'cookie'
  readonly style: 'simple' | 'label' | 'matrix' | QueryStyle
  readonly explode: boolean
  /** Serialized as JSON. */
  readonly json: boolean
  /** Characters such as `/` and `:` are not escaped. */
  readonly reserved: boolean
}

export type QueryStyle = 'form' | 'spaceDelimited' | 'pipeDelimited' | 'deepObject'

/** The encoding of a form field: a query style, JSON, text or, in a multipart form, a file. */
export type DescribedField =
  | Pick<DescribedParameter, 'explode' | 'reserved'> & { readonly style: QueryStyle }
  | { readonly style: 'json' | 'text' | 'file'; readonly mediaType?: string | undefined }

export interface DescribedBody {
  readonly argument: string
  /** `binary`: a file, see `FILE_SCHEMA`. */
  readonly form: 'json' | 'urlencoded' | 'multipart' | 'text' | 'binary'
  /** `*` stands for the type of the file. */
  readonly mediaType: string
  /** Form fields with an encoding in the document, and files. */
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
  /** Alternatives, each a list of security schemes. Empty: none is needed. */
  readonly security: readonly (readonly string[])[]
}

/** A security scheme of a document. */
export type DescribedScheme = { readonly name: string } & (
  | { readonly kind: 'basic' | 'bearer' }
  | { readonly kind: 'apiKey'; readonly in: 'header' | 'query' | 'cookie'; readonly parameter: string }
  | { readonly kind: 'oauth2' }
) & { readonly tokenUrl?: string | undefined }

/** The parts of a document that are used. */
export interface DescribedApi {
  /** The version that the document declares. */
  readonly version: string
  /** The URL of its first server, with its variables replaced. null if there is none. */
  readonly server: string | null
  readonly operations: readonly DescribedOperation[]
  readonly schemes: readonly DescribedScheme[]
  /** Operations that cannot be used, one line each. */
  readonly faults: readonly string[]
  /** Non-standard schema parts that were converted, one line each. */
  readonly mended: readonly string[]
  /** Operations whose schemas are too large and were cut, one line each. */
  readonly shortened: readonly string[]
}

/** The filters of the configuration. */
export interface Wanted {
  readonly operations: readonly string[] | null
  readonly tags: readonly string[] | null
  readonly paths: readonly string[] | null
  /** In lower case. */
  readonly methods: readonly string[] | null
  /** Whether the configuration has a base URL, which overrides the servers of the document. */
  readonly hasBaseUrl: boolean
}

/** A document or an operation cannot be used. The message is the end of a sentence. */
export class Unusable extends Error {
  override readonly name = 'Unusable'
}

const LONGEST_CHAIN = 16

/** Resolves references inside the document. Others are rejected. */
export function resolveReference(root: JsonObject, value: Json | undefined): JsonObject {
  let found = value
  for (let steps = 0; steps < LONGEST_CHAIN; steps++) {
    if (!isJsonObject(found)) throw new Unusable('has a value that must be an object')
    const { $ref } = found
    if (typeof $ref !== 'string') return found
    found = valueAt(root, $ref)
  }
  throw new Unusable('has a circular reference')
}

/** Throws Unusable for a reference that leads nowhere. */
export function valueAt(root: JsonObject, reference: string): Json {
  const refuse = (why: string): Unusable => new Unusable(`refers to "${visibleText(reference).slice(0, 200)}", ${why}`)
  if (!reference.startsWith('#')) throw refuse('outside the document, which is not supported')
  const found = targetOf(root, reference)
  if (found === undefined) throw refuse('which does not exist')
  return found
}
