import { spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import { expect, it, vi } from 'vitest'
import { LONG } from '../../../scripts/thoroughly.ts'
import { z } from 'zod'
import { declaredManifest, defineExtension, defineTool, ToolError } from '../src/author/index.ts'

const SOURCE = join(import.meta.dirname, '../src')
const configSchema = z.strictObject({ region: z.string().default('eu'), retries: z.int().max(3).optional() })

it('parses the configuration with a schema of a library, so that its defaults apply', async () => {
  const seen: unknown[] = []
  const parse = vi.spyOn(configSchema['~standard'], 'validate')
  const apart = defineTool({
    description: 'Shows the region.',
    configSchema,
    execute: (_args, { config }) => config.region,
  })
  const extension = defineExtension({
    configSchema,
    activate: ({ config }) => void seen.push(config),
    tools: { show: { execute: (_args, runtime) => ({ ...runtime.config, call: runtime.callId }) }, apart },
  })
  const config = { retries: 2 }
  await extension.init!({ config, log: console })
  await extension.activate!({ config, log: console })
  expect(seen).toEqual([{ region: 'eu', retries: 2 }])
  const runtime = { config, callId: '7' } as never
  expect(await extension.tools['show']!.execute({} as never, runtime)).toEqual({ region: 'eu', retries: 2, call: '7' })
  expect(parse).toHaveBeenCalledTimes(1)
  expect(await apart.execute({}, { config: { region: 'us' } })).toBe('us')
  expect(await apart.execute({}, {})).toBe('eu')
  await expect(extension.init!({ config: { retries: 9 }, log: console })).rejects.toThrow(ToolError)
  await expect(extension.init!({ config: { retries: 9 }, log: console })).rejects.toThrow(
    /^The configuration of the extension is invalid\. \/retries: /,
  )
})

it('a configSchema of a tool is that of its extension', () => {
  const one = defineTool({ description: 'One.', configSchema, execute: () => 1 })
  expect(declaredManifest(defineExtension({ tools: { one } }))).toMatchObject({
    configSchema: { properties: { region: { default: 'eu' } } }, tools: [{ name: 'one', description: 'One.' }],
  })
  const two = defineTool({ description: 'Two.', configSchema: z.object({}), execute: () => 2 })
  expect(() => declaredManifest(defineExtension({ tools: { one, two } }))).toThrow(
    'The tools "one" and "two" have different configSchemas.',
  )
})

const WRONG = `import { defineExtension, defineTool } from ${JSON.stringify(join(SOURCE, 'author/index.ts'))}
const input = { type: 'object', properties: { city: { type: 'string' } } } as const
export const a = defineTool({ input, execute: () => 1 })
export const b = defineTool({ description: 'B.', input, approvalKey: '{town}', execute: () => 1 })
export const c = defineExtension({ tools: { 'get weather': b } })
export const d = defineExtension({ tools: { d: { input, approvalKey: '{town}', execute: () => 1 } } })
`

it('tsc says in words what is wrong: no description, a bad name, an unknown argument of an approval key', LONG, () => {
  const folder = mkdtempSync(join(tmpdir(), 'bulkhead-types-'))
  const file = join(folder, 'index.ts')
  writeFileSync(file, WRONG)
  const tsc = join(import.meta.dirname, '../../../node_modules/.bin/tsc')
  const { stdout } = spawnSync(
    tsc,
    [
      '--noEmit', '--strict', '--module', 'nodenext', '--target', 'esnext', '--lib', 'esnext',
      '--allowImportingTsExtensions', '--exactOptionalPropertyTypes', '--skipLibCheck', '--types', '', file,
    ],
    { cwd: folder, encoding: 'utf8' },
  )
  rmSync(folder, { recursive: true })
  const errorsAt = (line: number) =>
    stdout
      .split(/^(?=\S)/m)
      .filter((text) => text.includes(`index.ts(${line},`))
      .join('')
  expect(errorsAt(3)).toContain("Property 'description' is missing")
  const UNKNOWN = String.raw`"The input has no argument \"town\". Name one of its properties."`
  expect(errorsAt(4)).toContain(UNKNOWN)
  expect(errorsAt(5)).toContain(String.raw`"\"get weather\" cannot be the name of a tool. Begin with a letter, and use `
    + 'letters, digits, _ and - only."')
  expect(errorsAt(6)).toContain(UNKNOWN)
})

/** The interfaces of what a publisher writes. */
const INTERFACES = [
  'ToolDeclaration', 'ToolKeys', 'RequirementKeys', 'ExtensionPhases', 'ExtensionContext', 'SecretDeclaration',
  'StateDeclaration', 'ToolParts',
]
const WRITTEN = new RegExp(String.raw`(?:interface (?:${INTERFACES.join('|')})\b|function defineExtension)`)

it('every key that a publisher writes has a comment, in the types and in the schema of the manifest', () => {
  const bare = globSync('author/{extension,declared-keys}.ts', { cwd: SOURCE }).flatMap((file) => {
    const lines = readFileSync(join(SOURCE, file), 'utf8').split('\n')
    let isWritten = false
    return lines.flatMap((line, index) => {
      if (/^[^\s>)]/.test(line)) isWritten = WRITTEN.test(line)
      const isKey = /^ +(?:readonly )?\w+\??(?:: |\()(?!.*=>)/.test(line) && !/^ +(?:args|tool|work|given)\b/.test(line)
      return isWritten && isKey && !lines[index - 1]!.trimEnd().endsWith('*/') ? [`${file}: ${line.trim()}`] : []
    })
  })
  expect(bare).toEqual([])
  const schema = JSON.parse(readFileSync(join(SOURCE, '../schema/manifest.schema.json'), 'utf8')) as Json
  expect(undescribed(schema, '')).toEqual([])
})

function undescribed(schema: Json | undefined, path: string): readonly string[] {
  if (Array.isArray(schema)) return schema.flatMap((one: Json, index) => undescribed(one, `${path}/${index}`))
  if (!isJsonObject(schema)) return []
  const { properties, ...others } = schema
  const own = isJsonObject(properties)
    ? Object.entries(properties).flatMap(([key, value]) => [
        ...(isJsonObject(value) && typeof value['description'] === 'string' ? [] : [`${path}/${key}`]),
        ...undescribed(value, `${path}/${key}`),
      ])
    : []
  return [...own, ...Object.entries(others).flatMap(([key, value]) => undescribed(value, `${path}/${key}`))]
}
