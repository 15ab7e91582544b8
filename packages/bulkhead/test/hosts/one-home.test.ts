// Two processes with one home, as two terminals have them.
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { inside } from '../command-inside.ts'
import { HostProcess } from './processes.ts'

let folder: string
let hosts: HostProcess[]
function makeHome(): void {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-hosts-')))
  mkdirSync(join(folder, 'home/.bulkhead'), { recursive: true })
  hosts = []
}
async function endAll(): Promise<void> {
  for (const host of hosts) await host.end('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
}

async function start(): Promise<HostProcess> {
  const host = await HostProcess.start(folder)
  hosts.push(host)
  return host
}
const command = (...args: readonly string[]) => inside(args, folder)
const listed = async () => JSON.parse((await command('ps', '--json')).stdout) as {
  readonly frozen: object | null
  readonly hosts: readonly {
    readonly id: string; readonly pid: number; readonly state: string; readonly sessions: readonly object[]
  }[]
}
const WRITE = ['write', { path: 'a.txt', content: 'x' }] as const

describe('two hosts', () => {
  let a: HostProcess
  let b: HostProcess
  beforeAll(async () => {
    makeHome()
    ;[a, b] = [await start(), await start()]
  })
  afterEach(() => command('thaw'))
  afterAll(endAll)

  it('an approval given in one holds at the next call of the other, until it is revoked', async () => {
    expect(await a.call(...WRITE)).toMatchObject({ id: 'c1' })
    a.send('flush')
    await a.line(({ flushed }) => flushed === true)
    await b.call(...WRITE)
    const asked = () => [a, b].map(({ lines }) => lines.filter((line) => line.asked).length)
    expect(asked()).toEqual([1, 0])
    for (const [host, questions] of [[b, [1, 1]], [a, [2, 1]]] as const) {
      expect((await command('approvals', 'revoke', '--all')).code).toBe(0)
      await host.call(...WRITE)
      expect(asked()).toEqual(questions)
    }
  })

  it('a freeze stops both from starting calls, with nested calls and further attempts, until a thaw', async () => {
    const [outer, busy] = [a.begin('outer'), b.begin('busy')]
    await a.line(({ ran }) => ran === 'outer')
    await b.line(({ ran }) => ran === 'busy')
    const frozen = await command('freeze', '--reason', 'wrong customer')
    expect(frozen).toMatchObject({
      code: 0, stdout: expect.stringMatching(/^Frozen since .*wrong customer.*confirmed/),
    })
    const refused = { verdict: 'HostFrozen', text: expect.stringMatching(/froze.*wrong customer.*bulkhead thaw/) }
    expect(await a.call('inner')).toMatchObject(refused)
    expect(await b.call('inner')).toMatchObject(refused)
    for (const host of [a, b]) host.send('release')
    expect(await a.line(({ id }) => id === outer)).toMatchObject({ verdict: 'HostFrozen' })
    expect(await b.line(({ id }) => id === busy)).toMatchObject({ verdict: 'HostFrozen' })
    expect([a.ran('inner'), b.ran('inner'), b.ran('busy')]).toEqual([0, 0, 1])
    expect((await command('ps')).stdout).toMatch(/^Frozen since .*\n.*HOST .*\n.* frozen /)
    expect((await command('thaw')).stdout).toMatch(/^Thawed/)
    expect([await a.call('inner'), await b.call('inner')].map(({ verdict }) => verdict)).not.toContain('HostFrozen')
  })

  it('a freeze can cancel what runs', async () => {
    const waits = a.begin('waits')
    await a.line(({ ran }) => ran === 'waits')
    expect((await command('freeze', '--cancel')).code).toBe(0)
    expect(await a.line(({ id }) => id === waits)).toMatchObject({ verdict: 'ToolCancelled' })
  })

  it('a host that does not answer is named, and starts nothing when it goes on', async () => {
    const ran = a.ran('inner')
    a.child.kill('SIGSTOP')
    const frozen = await command('freeze')
    expect(frozen).toMatchObject({ code: 1, stderr: expect.stringContaining(`process ${a.child.pid}`) })
    expect(frozen.stderr).not.toContain(`process ${b.child.pid}`)
    const late = a.begin('inner')
    a.child.kill('SIGCONT')
    expect(await a.line(({ id }) => id === late)).toMatchObject({ verdict: 'HostFrozen' })
    expect(a.ran('inner')).toBe(ran)
  })

  // The last one, because it kills a host.
  it('ps lists hosts with their sessions and calls, and another host settles the calls of a killed one', async () => {
    a.begin('waits')
    await a.line(({ ran }) => ran === 'waits')
    await expect.poll(async () => (await listed()).hosts.map(({ sessions }) => sessions.length)).toEqual([1, 1])
    const shown = await command('ps')
    expect(shown.stdout).toMatch(new RegExp(`${a.child.pid} .* live .*\\n.*${b.child.pid} .* live `))
    expect(shown.stdout).toMatch(/\n\nSessions:\nHOST .*\n1 .*\n2 .*\n\nCalls:\nHOST .*\n1 +waits /)
    await a.end('SIGKILL')
    // The other one notices with its next heartbeat.
    await expect.poll(async () => (await listed()).hosts.map(({ pid, state }) => [pid, state]), { timeout: 30_000 })
      .toEqual([[b.child.pid, 'live']])
    const audit = await command('audit', 'export')
    expect(audit.stdout).toMatch(/"errorCode":"CallInterrupted"/)
  })
})

describe('hosts of another home', () => {
  beforeEach(makeHome)
  afterEach(endAll)

  // The tests of the store show that a lost seat starts nothing.
  it('a host that lost its seat joins again, and ps says when it has ended', LONG, async () => {
    const host = await start()
    const [before] = (await listed()).hosts
    {
      using database = new DatabaseSync(join(folder, 'home/.bulkhead/bulkhead.db'))
      database.exec('DELETE FROM host')
    }
    await expect.poll(async () => (await listed()).hosts.map(({ id }) => id)).toEqual([`${before!.id}.1`])
    await host.call('inner')
    expect(host.ran('inner')).toBe(1)
    await host.end()
    expect((await command('ps')).stdout).toBe('No host uses this store now.\n')
    expect((await command('thaw')).stdout).toBe('Nothing was frozen.\n')
  })

  it('a freeze holds for the first call of a home', async () => {
    expect(await command('freeze')).toMatchObject({ code: 0 })
    expect(await command('call', 'glob', '--args', '{"pattern":"*"}')).toMatchObject({
      code: 1, stderr: expect.stringContaining('HostFrozen'),
    })
  })

  it('a freeze does not guess the store where the configuration may name another one', async () => {
    writeFileSync(join(folder, 'home/.bulkhead/config.json'), '{ "store": { "url": "postgres://db.example/agents" }')
    for (const args of [['freeze'], ['thaw'], ['ps'], ['approvals', 'revoke', '--all'], ['audit', 'verify']]) {
      expect(await command(...args), args[0]).toMatchObject({
        code: 1, stderr: expect.stringMatching(/^ConfigInvalid .*config\.json cannot be read as JSON/),
      })
    }
    // The test shares its cache with the commands.
    const made = readdirSync(join(folder, 'home/.bulkhead')).filter((name) => name !== 'cache')
    expect(made).toEqual(['config.json'])
  })

  it('ps says that no host uses a home without a store', async () => {
    expect(await command('ps')).toMatchObject({ code: 0, stdout: 'No host uses this store now.\n' })
  })
})
