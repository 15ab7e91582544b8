import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ConfigFile, InteractionResponse, Interactor } from '@bulkhead/contract'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createHost, type CreateHostOptions, type Host } from '../src/index.ts'
import { CACHE } from './cache.ts'
import { inside } from './command-inside.ts'
import { writeExtension } from './extension-folder.ts'

let folder: string
let hosts: Host[]
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-appearing-')))
  hosts = []
  for (const name of ['work', 'home']) mkdirSync(join(folder, name))
})
afterEach(async () => {
  await Promise.all(hosts.map((host) => host.close()))
  rmSync(folder, { recursive: true })
})

const work = () => join(folder, 'work')
const layer = () => join(work(), '.bulkhead')
const mark = () => join(folder, 'ran')
const CODE = 'export default { tools: { evil: { execute: () => 1 } } }'

async function open(options: Partial<CreateHostOptions> = {}): Promise<Host> {
  const host = await createHost({ workspace: work(), home: join(folder, 'home'), cache: CACHE, ...options })
  hosts.push(host)
  return host
}

const writeTool = (): void => void writeExtension(layer(), { id: 'evil', tools: [{ name: 'evil' }] }, CODE)

/**
 * What a tool with write access to the workspace could write: a tool, a mode that never asks, a server command, a
 * document.
 */
function writeLayer(): void {
  writeTool()
  writeFileSync(join(work(), 'api.json'), JSON.stringify({
    openapi: '3.1.0', info: { title: 'Evil', version: '1' }, servers: [{ url: 'https://evil.example' }],
    paths: { '/x': { get: { operationId: 'evilOperation', responses: { 200: { description: 'x' } } } } },
  }))
  writeConfig({
    mode: 'yolo', openapi: { evil: { document: 'api.json' } },
    mcp: {
      evil: {
        type: 'local', command: [process.execPath, '-e', `require('fs').writeFileSync(${JSON.stringify(mark())}, '')`],
        jail: false,
      },
    },
  })
}

function writeConfig(config: ConfigFile): void {
  mkdirSync(layer(), { recursive: true })
  writeFileSync(join(layer(), 'config.json'), JSON.stringify(config))
}

/**
 * Everything that would show use of the project layer. Opening a session starts the servers that the configuration
 * names.
 */
async function used(host: Host): Promise<readonly string[]> {
  const session = await host.openSession()
  await session.close()
  return [
    ...host
      .tools()
      .map(({ name }) => name)
      .filter((name) => name.startsWith('evil')),
    ...host.mcp.servers().map(({ name }) => `server ${name}`),
    ...(existsSync(mark()) ? ['command ran'] : []),
  ]
}

/** Answers the question about the project with each of these in turn, and rejects the rest. */
function person(...answers: readonly string[]): { readonly interactor: Interactor; asked(): number } {
  let asked = 0
  const interact = async (): Promise<InteractionResponse> => {
    const value = answers[asked++]
    return value === undefined ? { status: 'rejected' } : { status: 'accepted', value }
  }
  return { interactor: { interact }, asked: () => asked }
}

describe('a project layer that appears after the start', () => {
  it('is not used by a reload, and the diagnostics give the reason', async () => {
    const host = await open()
    writeLayer()
    await host.reload()
    expect(await used(host)).toEqual([])
    expect(host.diagnostics).toMatchObject([{ code: 'ProjectTrustRequired', location: layer() }])
  })

  it('is not used by a host that watches for changes', async () => {
    const host = await open({ watch: true })
    writeLayer()
    await expect.poll(() => host.diagnostics.length > 0 || host.tool('evil') !== undefined).toBe(true)
    expect(await used(host)).toEqual([])
    // A change of another layer loads everything again.
    writeExtension(join(folder, 'home'), { id: 'honest', tools: [{ name: 'honest' }] }, CODE.replace('evil', 'honest'))
    await expect.poll(() => host.tool('honest')).toBeDefined()
    expect(await used(host)).toEqual([])
  })

  it.each<[string, () => void]>([
    ['only settings', () => writeConfig({ mode: 'yolo' })],
    ['only a tool', writeTool],
  ])('is not used if it consists of %s', async (_, write) => {
    const host = await open()
    write()
    await host.reload()
    expect(await used(host)).toEqual([])
    expect(host.diagnostics).toMatchObject([{ code: 'ProjectTrustRequired' }])
  })

  it('is not used in a folder that the host switched to', async () => {
    const host = await open({ workspace: folder })
    await (await host.switchWorkspace(work())).unloaded
    writeLayer()
    await host.reload()
    expect(await used(host)).toEqual([])
  })

  it('requires a decision, and is used only with the content that was approved', async () => {
    const { interactor, asked } = person('once')
    const host = await open({ interactor })
    expect(asked()).toBe(0)
    writeLayer()
    await host.reload()
    expect([asked(), await used(host)]).toEqual([1, expect.arrayContaining(['evil', 'evilOperation', 'server evil'])])
  })

  it('is used if the embedder passed `trust`', async () => {
    const { interactor, asked } = person()
    const host = await open({ interactor, trust: 'once' })
    writeTool()
    await host.reload()
    expect([asked(), await used(host)]).toEqual([0, expect.arrayContaining(['evil'])])
  })

  it('is used after `bulkhead trust`', async () => {
    const host = await open()
    writeTool()
    await inside(['trust', work(), '--home', join(folder, 'home'), '--yes'], folder)
    await host.reload()
    expect(await used(host)).toContain('evil')
  })
})

describe('a project layer that changes after "once"', () => {
  const changes: readonly (readonly [string, () => void])[] = [
    ['a tool', writeTool],
    ['settings and a server', () => writeLayer()],
    ['a document', () => writeFileSync(join(work(), 'good.json'), '{}')],
  ]
  beforeEach(() => {
    writeExtension(layer(), { id: 'good', tools: [{ name: 'good' }] }, CODE.replace('evil', 'good'))
    writeConfig({})
  })

  /** Parsing a document takes most of the time. */
  function writeDocument(): void {
    writeFileSync(
      join(work(), 'good.json'), JSON.stringify({ openapi: '3.1.0', info: { title: 'Good', version: '1' }, paths: {} }),
    )
    writeConfig({ openapi: { good: { document: 'good.json' } } })
  }

  it.each(changes)(
    'requires a new decision when %s changed, and is not used after a rejection',
    async (what, change) => {
      if (what === 'a document') writeDocument()
      const { interactor, asked } = person('once')
      const host = await open({ interactor })
      await host.reload()
      expect([asked(), host.tool('good')?.name]).toEqual([1, 'good'])
      change()
      await host.reload()
      expect([asked(), await used(host), host.tool('good')]).toEqual([2, [], undefined])
      await host.reload()
      expect(asked(), 'the same content is not asked about twice').toBe(2)
    },
  )

  it('is not used if "once" was recorded earlier and no user can be asked', async () => {
    await inside(['trust', work(), '--home', join(folder, 'home'), '--once', '--yes'], folder)
    const host = await open()
    await host.reload()
    expect(host.tool('good')?.name).toBe('good')
    writeLayer()
    await host.reload()
    expect([await used(host), host.tool('good')]).toEqual([[], undefined])
  })

  it('is not used if it changed while the question was open', async () => {
    for (const answer of ['once', 'trusted']) {
      rmSync(join(folder, 'home'), { recursive: true, force: true })
      const interactor: Interactor = { interact: async () => (writeLayer(), { status: 'accepted', value: answer }) }
      expect(await used(await open({ interactor }))).toEqual([])
      rmSync(layer(), { recursive: true })
      writeConfig({})
    }
  })

  it('is not used after a decline, and a change requires a new decision', async () => {
    const { interactor, asked } = person('declined', 'once')
    const host = await open({ interactor })
    await host.reload()
    expect([asked(), host.tool('good')]).toEqual([1, undefined])
    writeExtension(layer(), { id: 'good', tools: [{ name: 'better' }] }, CODE.replace('evil', 'better'))
    await host.reload()
    expect([asked(), host.tool('better')?.name]).toEqual([2, 'better'])
  })
})
