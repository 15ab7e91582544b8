// @module-tag walls
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { firstData } from '../../../../scripts/first-data.ts'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { detectOsLayers, withoutLayers } from '../../src/os/os-layers.ts'
import { attempt, chainOf, outcomeOf, layersWithoutBubblewrap, pipesOf, start } from './run-under-layers.ts'

const LAYERS = [
  ['all that works here', await detectOsLayers()],
  ['what works without bubblewrap', await layersWithoutBubblewrap()],
  ['nothing', withoutLayers('it is not wanted here')],
] as const

/** Echoes what it reads from the descriptors 3 and 4. */
const ECHO = `
import { Socket } from 'node:net'
for (const fd of [3, 4]) {
  const socket = new Socket({ fd })
  socket.on('data', (data) => socket.write(fd + ' ' + data))
}`

describe.each(LAYERS)('a hull under %s', (_, layers) => {
  it('has two duplex channels, no other descriptor of the host, and one process group without a terminal', async () => {
    const child = start(layers, ECHO)
    const { control, channel } = pipesOf(child)
    const answers = [control, channel].map(firstData)
    control.write('control')
    channel.write('channel')
    expect(await Promise.all(answers)).toEqual(['3 control', '4 channel'])
    const node = chainOf(child.pid!).at(-1)!
    const open = readdirSync(`/proc/${node}/fd`).map((fd) => `/proc/${node}/fd/${fd}`)
    const targets = open.map((path) => readlinkSync(path))
    expect(targets.filter((target) => target.startsWith('socket:'))).toHaveLength(4)
    // libuv reserves one descriptor: of the root directory without /dev/null. It must be the root inside.
    const files = open.filter((_path, index) => targets[index]!.startsWith('/') && targets[index] !== '/dev/null')
    const rootInside = layers.bubblewrap.active
      ? [...layers.bubblewrap.files.keys()].map((path) => path.split('/')[1]!) : []
    expect(files.flatMap((path) => readdirSync(path)).filter((name) => !rootInside.includes(name))).toEqual([])
    const facts = chainOf(child.pid!).map(
      (pid) => readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)!.split(' '),
    )
    expect(facts.map(([, , group, session, terminal]) => [group, session, terminal]))
      .toEqual(facts.map(() => [String(child.pid), String(child.pid), '0']))
  })

  it('starts Node even if the event loop of the host is blocked', () => {
    const child = start(layers, ECHO)
    const program = (): string => readFileSync(`/proc/${chainOf(child.pid!).at(-1)!}/comm`, 'latin1')
    const late = performance.now() + 60_000
    while (!program().startsWith('node') && performance.now() < late);
    expect(program()).toMatch(/^node/)
  })

  it('does not see the environment and the working directory of the host', LONG, async () => {
    const known = await attempt(layers, '({ cwd: process.cwd(), env: { ...process.env, PWD: undefined } })')
    expect(known).toEqual({ value: { cwd: '/', env: {} } })
  })

  it('reports a failed start by its end', LONG, async () => {
    const child = start(layers, 'throw new Error("not today")')
    const { end, stderr } = await outcomeOf(child)
    expect(end).toBe('code 1')
    expect(stderr).toContain('not today')
  })
})
