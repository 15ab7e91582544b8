import { readFile } from 'node:fs/promises'
import { manifestSchema } from '@bulkhead/contract/validation'
import { describe, expect, it } from 'vitest'
import { payload } from '../src/loads/echo.ts'

const folder = new URL('../extensions/echo/', import.meta.url)

interface EchoModule {
  readonly default: { readonly tools: { readonly echo: { execute(args: unknown): unknown } } }
}

describe('the echo extension', () => {
  it('has the declared tool, which returns its arguments', async () => {
    const manifest = manifestSchema.parse(JSON.parse(await readFile(new URL('bulkhead.json', folder), 'utf8')))
    const { default: { tools } } = (await import(new URL(manifest.main, folder).href)) as EchoModule
    expect(manifest.tools.map(({ name }) => name)).toEqual(Object.keys(tools))
    expect(tools.echo.execute(payload(3))).toEqual(payload(3))
  })
})
