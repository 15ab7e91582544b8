import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DEFAULT_LIMITS, type BrokerMethod, type CallUse, type UseRules } from '@bulkhead/contract'
import { errorCode } from '@bulkhead/kit/error-message'
import type { Json } from '@bulkhead/kit/json'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { Broker } from '../src/broker.ts'
import { temporaryFolder, toolOf } from './fixture.ts'
import { asks, denies, useRules } from './use-rules.ts'

let workspace: string
beforeEach(async () => {
  workspace = await temporaryFolder()
  mkdirSync(join(workspace, 'src'))
  mkdirSync(join(workspace, 'keys'))
  for (const file of ['a.ts', '.env2', 'src/b.ts', 'keys/k.ts'])
    writeFileSync(join(workspace, file), `needle ${file}\n`)
})

const FILES = { fs: { read: ['{workspace}'], write: ['{workspace}'] } }

function open(uses: UseRules | undefined, requires: object = FILES) {
  const tool = toolOf('reader', requires as never, workspace)
  const services = { log: () => undefined, env: new Map<string, string>(), envDeclared: new Set<string>() }
  const broker = new Broker({ tools: [tool], services, limits: DEFAULT_LIMITS }, workspace)
  const call = { callId: 'c', tool, signal: new AbortController().signal, uses }
  broker.open(call)
  onTestFinished(() => broker.close())
  return (method: BrokerMethod, ...args: readonly Json[]): Promise<Json | string> =>
    broker.methods[method]('c', ...args).catch((error: unknown) => errorCode(error) ?? String(error))
}

describe('files', () => {
  it('that a rule denies are refused one by one, also through a link, and the call goes on', async () => {
    symlinkSync('keys/k.ts', join(workspace, 'link.ts'))
    const ask = open(useRules([denies('fs.read', join(workspace, 'keys'))]))
    expect(await ask('fs.read', 'a.ts', 'text')).toBe('needle a.ts\n')
    expect(await ask('fs.read', 'keys/k.ts', 'text')).toBe('RuleDenied')
    expect(await ask('fs.read', 'link.ts', 'text')).toBe('RuleDenied')
    expect(await ask('fs.stat', 'keys/missing', 'text')).toBe('RuleDenied')
    expect(await ask('fs.list', 'keys')).toBe('RuleDenied')
    expect(await ask('fs.write', 'keys/k.ts', 'text', 'new')).toMatchObject({ bytes: 3 })
    expect(await ask('fs.edit', 'keys/k.ts', 'new', 'newer')).toBe('RuleDenied')
  })

  it('are denied by the name of a link as well', async () => {
    symlinkSync('a.ts', join(workspace, 'link.ts'))
    const ask = open(useRules([denies('fs.read', join(workspace, 'link.ts'))]))
    expect(await ask('fs.read', 'link.ts', 'text')).toBe('RuleDenied')
    expect(await ask('fs.read', 'a.ts', 'text')).toBe('needle a.ts\n')
  })

  it('are not written or removed where a rule denies that', async () => {
    const ask = open(useRules([denies('fs.write', join(workspace, '**/k.ts'))]))
    expect(await ask('fs.write', 'keys/k.ts', 'text', 'x')).toBe('RuleDenied')
    expect(await ask('fs.remove', 'keys', true)).toBe('CapabilityDenied')
    const update = { path: 'keys/k.ts', before: ['text', 'needle keys/k.ts\n'], after: ['text', 'x'] }
    expect(await ask('fs.apply', [update])).toBe('RuleDenied')
    expect(readFileSync(join(workspace, 'keys/k.ts'), 'utf8')).toBe('needle keys/k.ts\n')
  })

  it('are read after a person said yes, and a rule asks once', async () => {
    const asked: CallUse[] = []
    const ask = open(useRules([asks('fs.read', join(workspace, 'keys'))], async (use) => asked.push(use) > 0))
    expect(await ask('fs.read', 'keys/k.ts', 'text')).toBe('needle keys/k.ts\n')
    expect(await ask('fs.list', 'keys')).toHaveLength(1)
    expect(asked).toEqual([{ capability: 'fs.read', subject: join(workspace, 'keys/k.ts') }])
    expect(await open(useRules([asks('fs.read', join(workspace, 'keys'))]))('fs.read', 'keys/k.ts', 'text'))
      .toBe('ApprovalDenied')
  })
})

describe('searches', () => {
  const rules = () =>
    useRules([denies('fs.read', join(workspace, 'keys')), asks('fs.read', join(workspace, '**/b.ts'))])

  it('leave out what is denied or asks, and say how many', async () => {
    const ask = open(rules())
    expect(await ask('fs.list', '.', 'counted')).toMatchObject({ leftOut: 1, found: [
      { name: '.env2' }, { name: 'a.ts' }, { name: 'src' },
    ] })
    expect(await ask('fs.glob', '**/*.ts', {}, 'counted')).toEqual({ found: ['a.ts'], leftOut: 2 })
    expect(await ask('fs.find', '**/*.ts', {})).toMatchObject({ paths: ['a.ts'], total: 1, leftOut: 2 })
    expect(await ask('fs.search', 'needle', { glob: '*.ts' })).toMatchObject({ total: 1, leftOut: 2 })
  })

  it('do not tell by that number whether the content of such a file matches', async () => {
    const ask = open(rules())
    expect(await ask('fs.search', 'needle keys', { glob: '*.ts' })).toMatchObject({ total: 0, leftOut: 2 })
    expect(await ask('fs.search', 'no such text', { glob: '*.ts' })).toMatchObject({ total: 0, leftOut: 2 })
  })

  it('say nothing without rules', async () => {
    expect(await open(undefined)('fs.find', '**/*.ts', {})).toEqual({ paths: expect.anything(), total: 3 })
  })
})

describe('hosts', () => {
  async function serve(): Promise<number> {
    const server = createServer((request, response) => {
      if (request.url === '/away') {
        const { port } = server.address() as AddressInfo
        response.writeHead(302, { location: `http://127.0.0.2:${port}/` })
      }
      response.end('here')
    })
    await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', () => resolve()))
    onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve())))
    return (server.address() as AddressInfo).port
  }

  it('are checked at each hop of a redirect', async () => {
    const port = await serve()
    const requires = { net: { hosts: [`127.0.0.1:${port}`, `127.0.0.2:${port}`] } }
    const ask = open(useRules([denies('net.fetch', '127.0.0.2')]), requires)
    expect(await ask('net.fetch', `http://127.0.0.1:${port}/`, {})).toMatchObject({ status: 200 })
    expect(await ask('net.fetch', `http://127.0.0.1:${port}/away`, {})).toBe('RuleDenied')
    expect(await ask('net.fetch', `http://127.0.0.2:${port}/`, {})).toBe('RuleDenied')
    expect(await open(undefined, requires)('net.fetch', `http://127.0.0.1:${port}/away`, {}))
      .toMatchObject({ status: 200 })
  })

  it('are asked about at the hop that needs it', async () => {
    const port = await serve()
    const requires = { net: { hosts: [`127.0.0.1:${port}`, `127.0.0.2:${port}`] } }
    const asked: string[] = []
    const rules = useRules([asks('net.fetch', '127.0.0.2*')], async ({ subject }) => asked.push(subject) > 0)
    expect(await open(rules, requires)('net.fetch', `http://127.0.0.1:${port}/away`, {})).toMatchObject({ status: 200 })
    expect(asked).toEqual([`127.0.0.2:${port}`])
  })
})
