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

/** Installs in a child process. `when`: the write at which it is killed, or `every N`; see crash-child.ts. */
export async function installIn(home: HomeFixture, specs: string, when: string, killAfterMs?: number): Promise<Ran> {
  const options = JSON.stringify({ layer: 'global', workspace: home.workspace, cwd: home.base, loader: home.options() })
  const running = spawn(process.execPath, [child, specs, options, when], {
    stdio: ['ignore', 'pipe', 'inherit'], env: { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] },
  })
  let printed = ''
  running.stdout.on('data', (text) => { printed += text })
  const timer = killAfterMs === undefined ? undefined : setTimeout(() => running.kill('SIGKILL'), killAfterMs)
  const [, signal] = await once(running, 'close') as [number | null, string | null]
  clearTimeout(timer)
  return { signal, printed }
}

/** The content of a layer in one line. Throws if files of an extension are missing. */
export async function stateOf(home: HomeFixture, root = home.globalRoot): Promise<string> {
  const { extensions, diagnostics } = await home.loadAsItIs({ roots: { global: root } })
  for (const { code } of extensions) if (code.kind === 'files') assert.equal((await code.readFiles()).size, 3)
  return [
    ...extensions.map(({ id, version, integrity }) => `${id}@${version} ${integrity}`),
    ...diagnostics.map(({ message }) => message),
  ].join()
}

/**
 * Stops an update at every `step`th write, each time on a copy of the layer. Throws unless it leaves the complete
 * previous or new state, and the next update works. Returns the number of stops.
 */
export async function dieAtWrites(step: number): Promise<number> {
  using home = new HomeFixture()
  const newer = folderOf(home, packageFiles('1.0.1'), 'newer')
  await install(installerFor(home), folderOf(home, packageFiles('1.0.0'), 'older'))
  const { printed } = await installIn(home, newer, `every ${step}`)
  const copies = JSON.parse(printed) as string[]
  const seen = await Promise.all(copies.map((root) => stateOf(home, root)))
  assert.deepEqual(new Set(seen), new Set([OLD, NEW]))
  // Later stops must not go back to the previous state.
  assert.equal(seen.lastIndexOf(OLD), seen.indexOf(NEW) - 1)

  // Left-over files do not affect the next update.
  for (const root of copies) {
    await install(installerFor(home, { loader: { roots: { global: root } } }), newer)
    assert.equal(await stateOf(home, root), NEW)
  }
  return copies.length
}
