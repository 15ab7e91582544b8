import { isJsonObject, type JsonObject } from '@bulkhead/kit/json'
import { z } from 'zod'
import { RememberedFiles } from '../../connected/remembered-files.ts'
import type { DescribedApi } from './described.ts'

/** Another one where documents are read in another way than before. */
const READER = 4

const QUERY_STYLES = ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'] as const
const parameter = z.strictObject({
  argument: z.string(), name: z.string(), in: z.enum(['path', 'query', 'header']),
  style: z.enum(['simple', ...QUERY_STYLES]), explode: z.boolean(), json: z.boolean(), reserved: z.boolean(),
})
const field = z.union([
  z.strictObject({ style: z.enum(QUERY_STYLES), explode: z.boolean(), reserved: z.boolean() }), z.strictObject({ style: z.enum(['json', 'text']) }),
])
const operation = z.strictObject({
  operationId: z.string(), method: z.string(), path: z.string().startsWith('/'), label: z.string(), description: z.string(),
  inputSchema: z.custom<JsonObject>(isJsonObject), parameters: z.array(parameter),
  body: z.strictObject({ argument: z.string(), form: z.enum(['json', 'urlencoded', 'text']), mediaType: z.string(), fields: z.record(z.string(), field) }).nullable(),
})
const api = z.strictObject({
  version: z.string(), server: z.string().nullable(), operations: z.array(operation),
  faults: z.array(z.string()), mended: z.array(z.string()), unnamed: z.number(),
})
const remembered = z.strictObject({ reader: z.literal(READER), of: z.string(), api })

/** What was read of documents, so that those that are still the same need not be read again. Contract: never throws. */
export class ApiFiles {
  readonly #files: RememberedFiles

  constructor(folder: string | undefined) {
    this.#files = new RememberedFiles(folder)
  }

  /** `digest`: of the text that it must have been read from. */
  read(identity: string, digest: string): DescribedApi | undefined {
    const { data } = remembered.safeParse(this.#files.read(identity))
    return data?.of === digest ? data.api : undefined
  }

  write(identity: string, digest: string, read: DescribedApi): void {
    this.#files.write(identity, { reader: READER, of: digest, api: read })
  }
}
