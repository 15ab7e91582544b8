import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { HomeFixture } from '../home-fixture.ts'
import { folderOf, install, installerFor, packageFiles } from './install-fixture.ts'

const child = fileURLToPath(new URL('crash-child.ts', import.meta.url))

async function run(home: HomeFixture, specs: string, when: string, killAfterMs?: number): Promise<{ signal: string | null; printed: string }> {
  const options = JSON.stringify({ layer: 'global', workspace: home.workspace, cwd: home.base, loader: home.options() })
  const running = spawn(process.execPath, [child, specs, options, when], { stdio: ['ignore', 'pipe', 'inherit'], env: {} })
  let printed = ''
  running.stdout.on('data', (text) => { printed += text })
  const timer = killAfterMs === undefined ? undefined : setTimeout(() => running.kill('SIGKILL'), killAfterMs)
  const [, signal] = await once(running, 'close') as [number | null, string | null]
  clearTimeout(timer)
  return { signal, printed }
}

const state = async (home: HomeFixture, root = home.globalRoot): Promise<string> => {
  const { extensions, diagnostics } = await home.loadAsItIs({ roots: { global: root } })
  for (const { code } of extensions) if (code.kind === 'files') expect((await code.readFiles()).size).toBe(3)
  return [...extensions.map(({ id, version, integrity }) => `${id}@${version} ${integrity}`), ...diagnostics.map(({ message }) => message)].join()
}
const OLD = 'weather@1.0.0 verified'
const NEW = 'weather@1.0.1 verified'

test('ended at any write, the previous state is whole, or the new one is', async () => {
  using home = new HomeFixture()
  const newer = folderOf(home, packageFiles('1.0.1'), 'newer')
  await install(installerFor(home), folderOf(home, packageFiles('1.0.0'), 'older'))
  const { printed } = await run(home, newer, 'every')
  const copies = JSON.parse(printed) as string[]
  const seen = await Promise.all(copies.map((root) => state(home, root)))
  expect(seen.length).toBeGreaterThan(12)
  expect(new Set(seen)).toEqual(new Set([OLD, NEW]))
  // Once it is installed it stays installed.
  expect(seen.lastIndexOf(OLD)).toBe(seen.indexOf(NEW) - 1)

  // Whatever was left over does not stand in the way of the next one.
  for (const root of copies) {
    const installer = installerFor(home, { loader: { roots: { global: root } } })
    await install(installer, newer)
    expect(await state(home, root)).toBe(NEW)
  }
}, 60_000)

test('killed for good at a write, and at any moment, likewise', async () => {
  using home = new HomeFixture()
  const specs = [folderOf(home, packageFiles('1.0.1'), 'newer'), '-weather', folderOf(home, packageFiles('1.0.0'), 'older')].join()
  await install(installerFor(home), './older')
  const began = performance.now()
  expect((await run(home, specs, '0')).signal).toBeNull()
  const whole = performance.now() - began
  expect((await run(home, specs, '9')).signal).toBe('SIGKILL')
  expect(await state(home)).toBe(OLD)
  for (const part of [0.5, 0.7, 0.8, 0.9]) {
    await run(home, specs, '0', whole * (part + 0.1 * Math.random()))
    expect(['', OLD, NEW]).toContain(await state(home))
  }
}, 60_000)

test('two at once: one waits for the other', async () => {
  using home = new HomeFixture()
  folderOf(home, packageFiles('1.0.0'), 'one')
  folderOf(home, packageFiles('1.0.0', [], { id: 'storms', tools: [{ name: 'storm', description: 'x', inputSchema: { type: 'object' } }] }), 'two')
  const ended = await Promise.all([run(home, './one', '0'), run(home, './two', '0')])
  expect(ended.map(({ signal }) => signal)).toEqual([null, null])
  expect(await state(home)).toBe('storms@1.0.0 verified,weather@1.0.0 verified')
}, 60_000)
