import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { HomeFixture } from '../home-fixture.ts'
import { folderOf, install, installerFor, packageFiles } from './install-fixture.ts'

const child = fileURLToPath(new URL('crash-child.ts', import.meta.url))
export const OLD = 'weather@1.0.0 verified'
export const NEW = 'weather@1.0.1 verified'

export interface Ran {
  readonly signal: string | null
  readonly printed: string
}

/** Installs in a process of its own. `when`: at which of its writes it dies, or `every N`; see crash-child.ts. */
export async function installIn(home: HomeFixture, specs: string, when: string, killAfterMs?: number): Promise<Ran> {
  const options = JSON.stringify({ layer: 'global', workspace: home.workspace, cwd: home.base, loader: home.options() })
  const running = spawn(process.execPath, [child, specs, options, when], { stdio: ['ignore', 'pipe', 'inherit'], env: { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] } })
  let printed = ''
  running.stdout.on('data', (text) => { printed += text })
  const timer = killAfterMs === undefined ? undefined : setTimeout(() => running.kill('SIGKILL'), killAfterMs)
  const [, signal] = await once(running, 'close') as [number | null, string | null]
  clearTimeout(timer)
  return { signal, printed }
}

/** What a layer holds, in one line. Throws where files of an extension are missing. */
export async function stateOf(home: HomeFixture, root = home.globalRoot): Promise<string> {
  const { extensions, diagnostics } = await home.loadAsItIs({ roots: { global: root } })
  for (const { code } of extensions) if (code.kind === 'files') assert.equal((await code.readFiles()).size, 3)
  return [...extensions.map(({ id, version, integrity }) => `${id}@${version} ${integrity}`), ...diagnostics.map(({ message }) => message)].join()
}

/**
 * An update that ends at one write of every `step`, each time on a copy of the layer: throws unless it leaves the previous state whole
 * or the new one, and the next update works. Returns how many times it ended.
 */
export async function dieAtWrites(step: number): Promise<number> {
  using home = new HomeFixture()
  const newer = folderOf(home, packageFiles('1.0.1'), 'newer')
  await install(installerFor(home), folderOf(home, packageFiles('1.0.0'), 'older'))
  const { printed } = await installIn(home, newer, `every ${step}`)
  const copies = JSON.parse(printed) as string[]
  const seen = await Promise.all(copies.map((root) => stateOf(home, root)))
  assert.deepEqual(new Set(seen), new Set([OLD, NEW]))
  // Once it is installed it stays installed.
  assert.equal(seen.lastIndexOf(OLD), seen.indexOf(NEW) - 1)

  // Whatever was left over does not stand in the way of the next one.
  for (const root of copies) {
    await install(installerFor(home, { loader: { roots: { global: root } } }), newer)
    assert.equal(await stateOf(home, root), NEW)
  }
  return copies.length
}
