import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, relative } from 'node:path'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'

export interface SuiteGroup {
  readonly name: string
  readonly schema: Json
  readonly tests: readonly { readonly description: string; readonly data: Json; readonly valid: boolean }[]
}

type Draft = 'draft2020-12' | 'draft7'

const readJson = (path: string): Json => JSON.parse(readFileSync(path, 'utf8')) as Json

export function groupsOf(suite: string, draft: Draft): readonly SuiteGroup[] {
  return readdirSync(join(suite, draft))
    .toSorted()
    .flatMap((file) =>
      (readJson(join(suite, draft, file)) as unknown as readonly (SuiteGroup & { readonly description: string })[]).map(
        ({ description, ...group }) => ({
          ...group, name: `${draft}/${file}: ${description}`, schema: inDraft(group.schema, draft),
        }),
      ),
    )
}

const DRAFT_07 = 'http://json-schema.org/draft-07/schema#'
const inDraft = (schema: Json, draft: Draft): Json =>
  draft === 'draft7' && isJsonObject(schema) ? { $schema: DRAFT_07, ...schema } : schema

const resolve = createRequire(import.meta.resolve('@bulkhead/contract'))
const META_2020 = [
  'schema',
  ...['core', 'applicator', 'unevaluated', 'validation', 'meta-data', 'format-annotation', 'content'].map(
    (part) => `meta/${part}`,
  ),
]

/**
 * The other schemas that the suite refers to, by their addresses: its `remotes`, and the meta-schemas. Left out are
 * meta-schemas of other dialects.
 */
function* othersOf(suite: string, draft: Draft, withMeta: boolean): Generator<readonly [string, JsonObject]> {
  for (const part of draft === 'draft7' || !withMeta ? [] : META_2020) {
    const schema = resolve(`ajv/dist/refs/json-schema-2020-12/${part}.json`) as JsonObject
    yield [schema['$id'] as string, schema]
  }
  if (draft === 'draft7' && withMeta) yield [DRAFT_07, resolve('ajv/dist/refs/json-schema-draft-07.json') as JsonObject]
  const remotes = join(suite, 'remotes')
  for (const entry of readdirSync(remotes, { recursive: true, withFileTypes: true })) {
    const path = relative(remotes, join(entry.parentPath, entry.name))
    const ofDraft = draft === 'draft7' ? /^(?:draft7\/|[a-zA-Z]+\.json|nested\/|baseUri)/ : /^draft2020-12\//
    if (!entry.isFile() || !ofDraft.test(path) || /format-assertion/.test(path)) continue
    // They refer to the meta-schemas.
    if (!withMeta && path.includes('metaschema')) continue
    const schema = readJson(join(remotes, path))
    if (isJsonObject(schema)) yield [`http://localhost:1234/${path}`, schema]
  }
}

/**
 * A schema with those that it refers to inside it, bundled as the specification defines: nothing is fetched
 * here.
 */
export function bundled(suite: string, { schema, name }: SuiteGroup, withMeta: boolean): Json {
  const draft = name.startsWith('draft7/') ? 'draft7' : 'draft2020-12'
  if (!isJsonObject(schema)) return schema
  const keyword = draft === 'draft7' ? 'definitions' : '$defs'
  const others = [...othersOf(suite, draft, withMeta)].flatMap(([address, other]): [string, Json][] => {
    const { $id } = other
    if (typeof $id !== 'string' || $id === address) return [[address, { ...other, $id: address }]]
    // A schema that was found at another address than its own has both.
    return [[`${address} itself`, other], [address, { $id: address, allOf: [{ $ref: $id }] }]]
  })
  const definitions = { ...schema[keyword] as JsonObject | undefined, ...Object.fromEntries(others) }
  // In draft-07 nothing counts beside a reference.
  return draft === 'draft7' && '$ref' in schema
    ? { $schema: DRAFT_07, allOf: [schema], definitions }
    : { ...schema, [keyword]: definitions }
}
