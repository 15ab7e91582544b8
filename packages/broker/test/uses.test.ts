import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import {
  compileGrant, DEFAULT_LIMITS, type BrokerMethod, type CapabilityUse, type MeasuredUse,
} from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { expect, it, onTestFinished } from 'vitest'
import { Broker } from '../src/broker.ts'
import type { OpenCall } from '../src/model/capability.ts'
import { temporaryFolder } from './fixture.ts'

const REQUIRES = {
  fs: { read: ['{workspace}/docs/**'], write: ['{workspace}/docs/**'] },
  shell: [{ cmd: 'echo', args: [{ rest: true as const }] }],
}

async function brokerWith(
  options: ConstructorParameters<typeof Broker>[2], hosts: string[] = [], call: Pick<OpenCall, 'onUse'> = {},
) {
  const workspace = await temporaryFolder()
  mkdirSync(join(workspace, 'docs'))
  writeFileSync(join(workspace, 'docs/a.md'), 'needle\n')
  const requires = { ...REQUIRES, net: { hosts } }
  const tool = {
    name: 'tool', requires, inputSchema: { type: 'object' }, grant: compileGrant(requires, { workspace: [workspace] }),
  }
  const services = { log: () => undefined, env: new Map(), envDeclared: new Set<string>() }
  const broker = new Broker({ tools: [tool], services, limits: DEFAULT_LIMITS }, workspace, options)
  broker.open({ callId: 'a', tool, signal: new AbortController().signal, ...call })
  onTestFinished(() => broker.close())
  return (method: BrokerMethod, ...args: Json[]): Promise<Json> => broker.methods[method]('a', ...args)
}

it('reports what a tool used: paths, folders that it searched, and each command of a pipe', async () => {
  const uses: CapabilityUse[] = []
  const ask = await brokerWith({ onUse: (use) => void uses.push(use) })
  await ask('fs.read', 'docs/a.md', 'text', null)
  await ask('fs.search', 'needle', { path: 'docs' })
  await ask('fs.glob', '**/*.md', {})
  await ask('fs.edit', 'docs/a.md', 'needle', 'pin', false)
  await ask('fs.apply', [{ path: 'docs/b.md', before: null, after: ['text', 'b'] }])
  await ask('fs.apply', [{ path: 'docs/b.md', before: ['text', 'b'], after: null }])
  expect(
    await ask('shell.pipe', [{ cmd: 'echo', args: ['one', 'two'], stdout: { path: 'docs/out' } }], {}),
  ).toMatchObject({ exits: [{ exitCode: 0 }] })
  await expect(ask('fs.read', 'secret.txt', 'text', null)).rejects.toMatchObject({ code: 'CapabilityDenied' })
  await expect(ask('fs.read', 'docs/none', 'text', null)).rejects.toMatchObject({ code: 'NotFound' })
  expect(uses.map(({ part, subject }) => `${part} ${subject}`)).toEqual([
    'fs.read docs/a.md', 'fs.read docs', 'fs.read .', 'fs.write docs/a.md', 'fs.read docs/a.md',
    'fs.write docs/b.md', 'fs.write docs/b.md', 'fs.read docs/b.md',
    'shell echo one two', 'fs.write docs/out', 'fs.read docs/none',
  ])
})

it('without a dry run, requests reach their host', async () => {
  const uses: CapabilityUse[] = []
  const server = createServer((_, response) => void response.end('here'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve())))
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const ask = await brokerWith({ onUse: (use) => void uses.push(use) }, [host])
  expect(await ask('net.fetch', `http://${host}/x`, {})).toMatchObject({ status: 200 })
  expect(uses).toEqual([{ tool: 'tool', part: 'net', subject: `GET http://${host}/x` }])
})

it('measures the uses of a call that wants it', async () => {
  const uses: MeasuredUse[] = []
  const call: Pick<OpenCall, 'onUse'> = { onUse: (use) => void uses.push(use) }
  const ask = await brokerWith({}, [], call)
  await ask('fs.read', 'docs/a.md', 'text', null)
  await expect(ask('fs.read', 'secret.txt', 'text', null)).rejects.toMatchObject({ code: 'CapabilityDenied' })
  expect(uses.map(({ subject, readBytes, failed }) => [subject, readBytes, failed]))
    .toEqual([['docs/a.md', 7, false], ['secret.txt', 0, true]])
})
