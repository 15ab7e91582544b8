import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { defineAgent, defineExtension, defineTool, ToolError } from '../src/author/index.ts'

const source = new URL('../src/', import.meta.url).href
const loadedBy = async (module: string): Promise<readonly string[]> => {
  const program = `
    import { registerHooks } from 'node:module'
    const loaded = []
    registerHooks({ load: (url, context, next) => { loaded.push(url); return next(url, context) } })
    await import(${JSON.stringify(new URL(module, source).href)})
    process.stdout.write(JSON.stringify(loaded))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program],
    { cwd: fileURLToPath(source) })
  return JSON.parse(stdout) as string[]
}

describe('the author API', () => {
  it('loads a few small files and no library', async () => {
    expect(await loadedBy('author/index.ts')).toEqual(
      [
        'author/index.ts', 'author/agent.ts', 'author/declared-manifest.ts', 'author/schema-types.ts',
        'author/extension.ts', 'author/parse.ts', 'author/tool-error.ts',
      ].map((file) => source + file),
    )
  })

  it('only adds types', () => {
    const tool = { description: 'Counts.', execute: () => 1 }
    const extension = { tools: { tool } }
    expect(defineExtension(extension)).toBe(extension)
    expect(defineTool(tool)).toBe(tool)
    const agent = { name: 'reviewer' }
    expect(defineAgent(agent)).toBe(agent)
  })

  it('ToolError sets the error code of a call', () => {
    expect(new ToolError('NotFound', 'No such city.', { city: 'Atlantis' })).toMatchObject({
      name: 'ToolError', code: 'NotFound', message: 'No such city.', data: { city: 'Atlantis' },
    })
    expect(new ToolError('ResourceBusy', 'Later.')).toBeInstanceOf(Error)
  })
})

describe('the specification', () => {
  it.each([
    ['index.ts', []], ['validation/index.ts', ['zod', 'semver']],
  ])('loads with %s the libraries %j', async (module, libraries) => {
    const loaded = await loadedBy(module)
    expect(['zod', 'semver'].filter((name) => loaded.some((url) => url.includes(`/node_modules/${name}/`))))
      .toEqual(libraries)
  })
})
