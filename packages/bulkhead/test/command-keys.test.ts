import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ApprovalRequest, BulkheadEvent, ConfigFile } from '@bulkhead/contract'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { WALLS } from '../../../scripts/machine.ts'
import { runsIf } from '../../../scripts/skips.ts'
import { commandWalls } from '../../broker/src/shell/starter.ts'
import { authorizedHost, KEY } from '../../broker/test/net/key-host.ts'
import { commandEnvironment, shownVariables } from '../src/facade/command-environment.ts'
import { createHost, openSqliteStore } from '../src/index.ts'
import { CACHE } from './cache.ts'
import { inside } from './command-inside.ts'

let folder: string
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-command-keys-')))
  mkdirSync(join(folder, 'work'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const keysFor = (host: string) => ({ GH_TOKEN: { host, methods: ['GET' as const], paths: ['/v1/**'] } })

async function opened(config: ConfigFile, file = 'bulkhead.db') {
  mkdirSync(join(folder, 'home'), { recursive: true })
  const asked: ApprovalRequest[] = []
  const events: BulkheadEvent[] = []
  const host = await createHost({
    workspace: join(folder, 'work'), home: join(folder, 'home'), cache: CACHE, config, trust: 'trusted',
    store: await openSqliteStore({ file: join(folder, 'home', file) }),
    env: { PATH: '/usr/bin:/bin', HOME: join(folder, 'home'), GH_TOKEN: KEY },
  })
  onTestFinished(async () => void await host.close())
  host.on((event) => events.push(event))
  const session = await host.openSession({
    approver: {
      approve: async (request) => {
        asked.push(request)
        return { decision: 'once' }
      },
    },
  })
  const bash = (id: string, command: string) => session.call({ id, name: 'bash', arguments: { command } })
  return { asked, events, bash, session, close: () => host.close() }
}

const { network } = await commandWalls(tmpdir(), undefined)
const hasCurl = existsSync('/usr/bin/curl')

describe(
  'a key of commands', { ...WALLS, ...runsIf(network && hasCurl, 'needs curl, and a network of its own for commands') },
  () => {
    it('is named by the question, sent to its host, and each use is an event of the call', async () => {
      const { host, received } = await authorizedHost('localhost', { answer: () => 'ok' })
      const { bash, asked, events, session, close } = await opened({
        audit: { enabled: true }, commands: { keys: keysFor(host) },
      })
      const line = (path: string) => `curl -sS -H "Authorization: Bearer $GH_TOKEN" https://${host}${path}`
      expect(await bash('one', line('/v1/me'))).toMatchObject({ type: 'output', data: { stdout: 'ok', stderr: '' } })
      expect(await bash('two', line('/v2/me'))).toMatchObject({
        data: { stderr: expect.stringContaining('The placeholder of the key GH_TOKEN was sent at a path') },
      })
      expect(received).toEqual([`Bearer ${KEY}`, expect.stringMatching(/^Bearer ghp_(?!Zq81)\w{36}$/)])
      expect(asked[0]!.touches).toContain(`use the key GH_TOKEN for ${host}`)
      expect(events.filter(({ type }) => type === 'KeyUsed' || type === 'KeyRefused')).toMatchObject([
        { type: 'KeyUsed', extensionId: 'bash', callId: 'one', key: 'GH_TOKEN', host, method: 'GET', path: '/v1/me' },
        {
          type: 'KeyRefused', extensionId: 'bash', callId: 'two', key: 'GH_TOKEN',
          reason: 'at a path that its paths do not include',
        },
      ])
      const { environment } = await session.explain({
        id: 'three', name: 'bash', arguments: { command: line('/v1/me') },
      })
      expect(environment).toContainEqual({ name: 'GH_TOKEN', key: { host, given: true } })
      await close()
      const { stdout: audit } = await inside(
        ['audit', 'tail', '--all', '--json', '--count', '100', '--home', join(folder, 'home')], folder,
      )
      const records = (JSON.parse(audit) as { readonly record: BulkheadEvent }[]).map(({ record }) => record)
      expect(records.filter(({ type }) => type === 'KeyUsed' || type === 'KeyRefused')).toMatchObject([
        { type: 'KeyUsed', callId: 'one' }, { type: 'KeyRefused', callId: 'two' },
      ])
      expect(JSON.stringify([asked, events, environment, audit])).not.toContain(KEY.slice(4, 24))
    })

    it('is not used without its host, or if only a project names it', async () => {
      const { host } = await authorizedHost('localhost', { answer: () => 'ok' })
      const { bash, asked } = await opened({ commands: { keys: keysFor(host) } })
      expect(await bash('one', 'echo "[$GH_TOKEN]"; touch a')).toMatchObject({ data: { stdout: '[]\n' } })
      mkdirSync(join(folder, 'work/.bulkhead'))
      writeFileSync(join(folder, 'work/.bulkhead/config.json'), JSON.stringify({ commands: { keys: keysFor(host) } }))
      const other = await opened({}, 'other.db')
      expect(await other.bash('two', `curl -sS https://${host}/v1/me; echo "[$GH_TOKEN]"`)).toMatchObject({
        data: { stdout: expect.stringMatching(/\[\]\n$/) },
      })
      expect(JSON.stringify([asked, other.asked])).not.toContain('the key GH_TOKEN')
    })
  },
)

describe('the variables of commands', () => {
  const { GH_TOKEN: key } = keysFor('api.example')

  it('do not include the value of a key, also if another layer passes it', () => {
    const { env, guarded, keys } = commandEnvironment(
      { A: KEY, B: KEY, C: KEY }, { env: { pass: ['A', 'C'], set: { B: 'set' } }, keys: { A: key, B: key } },
    )
    expect([env['A'], env['B'], env['C'], guarded, keys]).toEqual([undefined, 'set', KEY, {}, []])
  })

  it('name a key with its host, if the host has a value for it', () => {
    const commands = { keys: { A: key, B: key, C: key } }
    const shown = shownVariables(commandEnvironment({ A: KEY, C: '' }, commands), commands)
    expect(shown.filter(({ name }) => name.length === 1)).toEqual([{ name: 'A', key: { host: 'api.example' } }])
    expect(JSON.stringify(shown)).not.toContain(KEY)
  })

  it('are explained, with the keys that a command does not get', async () => {
    mkdirSync(join(folder, 'home/.bulkhead'), { recursive: true })
    writeFileSync(
      join(folder, 'home/.bulkhead/config.json'), JSON.stringify({ commands: { keys: keysFor('api.example') } }),
    )
    const { stdout } = await inside(['explain', 'bash', '--args', '{"command":"ls"}'], folder, { GH_TOKEN: KEY })
    expect(stdout).toContain('  - GH_TOKEN, not for this command: the key is for api.example\n')
    const line = '{"command":"curl https://api.example/v1/me"}'
    const { stdout: other } = await inside(['explain', 'bash', '--args', line], folder, { GH_TOKEN: KEY })
    expect(other).toContain(
      network ? '  - GH_TOKEN, a placeholder of the key for api.example\n' : '  - GH_TOKEN, not for this command',
    )
  })
})
