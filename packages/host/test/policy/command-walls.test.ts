import {
  NO_COMMAND_WALLS, type ApprovalAnswer, type ApprovalRequest, type ArgumentsReader, type CommandWalls, type ConfigFile,
} from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { describe, expect, test } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import type { SessionOptions } from '../../src/index.ts'
import { ManualClock } from '../twin/clock.ts'
import { createWorld, verdictOf, type WorldSketch } from '../twin/world.ts'

const ALL: CommandWalls = { look: true, work: true, network: true, masks: 'mount' }

/** `look …` seems to only read, `net HOST` needs a host, and the result is what `stopped` says. */
const reader: ArgumentsReader = ({ command }) => {
  const line = String(command)
  const [verb, host = ''] = line.split(' ')
  const look =
    verb === 'look'
    && ({ onlyReads: 'walled', command: { line, look: { key: 'look', subjects: [{ key: 'look' }] } } } as const)
  return {
    key: line, subjects: [{ key: line, names: [] }], touches: [], asks: [], denies: [],
    command: { line, ...(verb === 'net' && { hosts: host === 'ssh' ? 'all' : [host] }) }, ...look,
  }
}

async function opened(walls: CommandWalls, session: SessionOptions = {}, sketch: WorldSketch = {}) {
  const asked: ApprovalRequest[] = []
  let answer: ApprovalAnswer = { decision: 'once' }
  let result: JsonObject = {}
  const tools = { bash: { mode: 'local' as const, execute: () => result } }
  const world = createWorld({
    extensions: [{ layer: 'bundled', inline: true, tools }], argumentsReaders: new Map([['bash', reader]]), ...sketch,
  })
  let standing = walls
  world.sandbox.commandWalls = async () => standing
  const host = await world.host.openSession({
    approver: {
      approve: async (request) => {
        asked.push(request)
        return answer
      },
    },
    ...session,
  })
  let ids = 0
  const request = (command: string) => ({ id: `c${++ids}`, name: 'bash', arguments: { command } })
  return {
    asked, world,
    answer: (decision: 'once' | 'session' | 'reject') => void (answer = { decision }),
    stopped: (by: string | undefined) => void (result = by === undefined ? {} : { stopped_by: by }),
    stand: (now: CommandWalls) => void (standing = now),
    /** The verdict, the key if a person was asked, and the wall that explain names. */
    async run(command: string) {
      const { wall, decision } = await host.explain(request(command))
      const before = asked.length
      const verdict = verdictOf(await host.call(request(command)))
      expect(decision === 'ask').toBe(asked.length > before)
      const used = world.sandbox.compartments.at(-1)?.calls.at(-1)?.wall
      if (verdict === 'output' && wall !== undefined) expect(used ?? { wall: 'open' }).toEqual(wall)
      return { verdict, key: asked[before]?.approvalKey, wall, touches: asked[before]?.touches.at(-1) }
    },
  }
}

describe('the wall around a command', () => {
  test('is look if it seems to only read, unasked', async () => {
    const { run } = await opened(ALL)
    expect(await run('look -x')).toEqual({
      verdict: 'output', key: undefined, wall: { wall: 'look' }, touches: undefined,
    })
  })

  test('is none if the walls cannot be tried in 30 seconds', async () => {
    const clock = new ManualClock()
    const { run, world } = await opened(ALL, {}, { clock })
    world.sandbox.commandWalls = () => new Promise(() => {})
    const ran = run('build')
    // For explain, and for the call.
    await clock.advance(60_000)
    expect((await ran).wall).toEqual({ wall: 'open' })
  })

  test('is the next one for the last 256 lines that one stopped', LONG, async () => {
    const { run, stopped } = await opened(ALL)
    stopped('look')
    for (let line = 0; line <= 256; line++) await run(`look ${line}`)
    expect((await run('look 256')).wall).toEqual({ wall: 'work' })
    expect((await run('look 0')).wall).toEqual({ wall: 'look' })
  })

  test('is work otherwise, and the question says what it may do', async () => {
    const { run } = await opened(ALL)
    expect(await run('build')).toMatchObject({
      key: 'build', wall: { wall: 'work' },
      touches: 'run behind the work wall: it can write to the workspace, without a network',
    })
    expect(await run('net a.example')).toMatchObject({
      key: 'net a.example [net a.example]', wall: { wall: 'work', hosts: ['a.example'] },
      touches: expect.stringContaining('and reach a.example'),
    })
    expect(await run('net ssh')).toMatchObject({
      key: 'net ssh [net *]', wall: { wall: 'work', hosts: 'all' },
      touches: expect.stringContaining('with the whole network'),
    })
  })

  test('has the whole network where it has none of its own, if the command needs a host', async () => {
    const { run } = await opened({ ...ALL, network: false })
    expect(await run('net a.example')).toMatchObject({
      key: 'net a.example [net *]', wall: { wall: 'work', hosts: 'all' },
    })
    expect(await run('build')).toMatchObject({ key: 'build', wall: { wall: 'work' } })
  })

  test('is none where none stands, and the question says so', async () => {
    const { run } = await opened(NO_COMMAND_WALLS)
    expect(await run('look -x')).toMatchObject({
      key: '[open] look -x', wall: { wall: 'open' }, touches: 'run without a wall: it can do everything that you can',
    })
    expect(await run('build')).toMatchObject({ key: '[open] build', wall: { wall: 'open' } })
  })
})

describe('the keys of a command', () => {
  const commandVariables = [
    { name: 'PATH' }, { name: 'TOKEN', key: { host: 'a.example' } }, { name: 'OTHER', key: { host: 'b.example:8443' } },
  ]
  const requires = { shell: [{ cmd: '*', args: [{ rest: true as const }] }] }
  const bash = { mode: 'local' as const, requires, execute: () => ({}) }
  const sketch = { commandVariables, extensions: [{ layer: 'bundled' as const, inline: true, tools: { bash } }] }

  test('are those for its hosts, and the question names them', async () => {
    const { run, asked } = await opened(ALL, {}, sketch)
    expect(await run('net a.example')).toMatchObject({
      key: 'net a.example [net a.example] [key TOKEN]', wall: { wall: 'work', hosts: ['a.example'], keys: ['TOKEN'] },
    })
    expect(asked[0]!.touches).toContain('use the key TOKEN for a.example')
    expect(await run('net b.example:8443')).toMatchObject({ wall: { keys: ['OTHER'] } })
    for (const line of ['net b.example', 'net c.example', 'net ssh', 'build', 'look -x'])
      expect((await run(line)).wall, line).not.toHaveProperty('keys')
  })

  test('are none where it has no network of its own or no wall', async () => {
    for (const walls of [{ ...ALL, network: false }, NO_COMMAND_WALLS]) {
      const { run, asked } = await opened(walls, {}, sketch)
      expect((await run('net a.example')).wall).not.toHaveProperty('keys')
      expect(JSON.stringify(asked)).not.toContain('TOKEN')
    }
  })

  test('are none for a tool that is not bundled, or runs some commands only', async () => {
    const some = { ...bash, requires: { shell: [{ cmd: 'net', args: [{ rest: true as const }] }] } }
    for (const extension of [
      { layer: 'bundled' as const, inline: true, tools: { bash: some } }, { layer: 'global' as const, tools: { bash } },
    ]) {
      const { run } = await opened(ALL, {}, { ...sketch, extensions: [extension] })
      expect((await run('net a.example')).wall ?? {}).not.toHaveProperty('keys')
    }
  })

  test('are not covered by what allowed the host', async () => {
    const { run, answer } = await opened(
      ALL, { mode: 'allowlist' }, { ...sketch, config: { mode: 'allowlist', allowlist: ['bash:net a.example'] } },
    )
    expect(await run('net a.example')).toMatchObject({ key: 'net a.example [net a.example] [key TOKEN]' })
    answer('session')
    await run('net a.example')
    expect(await run('net a.example')).toMatchObject({ verdict: 'output', key: undefined, wall: { keys: ['TOKEN'] } })
  })
})

describe('a command that its wall stopped asks for the next wider one', () => {
  test('the walls follow each other from look over work to none', async () => {
    const { run, stopped } = await opened(ALL)
    stopped('look')
    await run('look -x')
    stopped('work')
    expect(await run('look -x')).toMatchObject({ key: 'look -x', wall: { wall: 'work' } })
    stopped(undefined)
    expect(await run('look -x')).toMatchObject({ key: '[open] look -x', wall: { wall: 'open' } })
    expect(await run('look -y')).toMatchObject({ key: undefined, wall: { wall: 'look' } })
  })

  test('and for the whole network before none', async () => {
    const { run, stopped } = await opened(ALL)
    stopped('network')
    await run('net a.example')
    expect(await run('net a.example')).toMatchObject({
      key: 'net a.example [net *]', wall: { wall: 'work', hosts: 'all' },
    })
    await run('net ssh')
    expect(await run('net ssh')).toMatchObject({ key: '[open] net ssh', wall: { wall: 'open' } })
  })

  test('no wall is skipped, whatever the tool says', async () => {
    const { run, stopped } = await opened(ALL)
    stopped('work')
    await run('look -x')
    expect(await run('look -x')).toMatchObject({ wall: { wall: 'work' } })
  })

  test('only the same session asks, and not because another extension says so', async () => {
    const tools = { bash: { mode: 'local' as const, execute: () => ({ stopped_by: 'work' }) } }
    const { run } = await opened(
      ALL, {},
      {
        extensions: [
          { layer: 'bundled', inline: true, tools }, { id: 'stand-in', layer: 'global', tools },
        ],
      },
    )
    await run('build')
    expect(await run('build')).toMatchObject({ key: 'build', wall: undefined })
  })

  test('the number of lines that are remembered is bounded', async () => {
    const { run, stopped } = await opened(ALL, { mode: 'yolo' })
    stopped('look')
    for (let at = 0; at < 257; at++) await run(`look ${at}`)
    expect([(await run('look 1')).wall, (await run('look 0')).wall]).toEqual([{ wall: 'work' }, { wall: 'look' }])
  })
})

describe('an approval', () => {
  test('for one host does not cover another', async () => {
    const { run, answer } = await opened(ALL)
    answer('session')
    await run('net a.example')
    expect(await run('net a.example')).toMatchObject({ key: undefined })
    expect(await run('net b.example')).toMatchObject({ key: 'net b.example [net b.example]' })
  })

  test('for the work wall does not cover a run without a wall', async () => {
    const { run, answer, stopped, stand } = await opened(ALL)
    answer('session')
    stopped('work')
    await run('build')
    expect(await run('build')).toMatchObject({ key: '[open] build' })
    stopped(undefined)
    await run('other')
    stand(NO_COMMAND_WALLS)
    expect(await run('other')).toMatchObject({ key: '[open] other' })
    expect(await run('other')).toMatchObject({ key: undefined, wall: { wall: 'open' } })
  })
})

describe('without a wall, the word of a project does not count', () => {
  const layered = (project: ConfigFile, global: ConfigFile = {}): WorldSketch => ({
    config: { ...global, ...project },
    layers: [
      { layer: 'global', location: '/global', config: global },
      { layer: 'project', location: '/project', config: project },
    ],
  })

  test.each<[string, ConfigFile, ConfigFile, number]>([
    ['its mode', { mode: 'yolo' }, {}, 1],
    ['its allowlist', { mode: 'allowlist', allowlist: ['bash:build'] }, {}, 1],
    ['the mode of the user', {}, { mode: 'yolo' }, 0],
    ['the allowlist of the user', {}, { mode: 'allowlist', allowlist: ['bash:build'] }, 0],
  ])('the origin of the setting decides: %s', async (_, project, global, questions) => {
    const { run, asked } = await opened(NO_COMMAND_WALLS, {}, layered(project, global))
    await run('build')
    expect(asked.length).toBe(questions)
  })
})
