/**
 * Installs a package and kills itself with SIGKILL at a given write. With `every N` it tests every Nth write instead,
 * each time on a fresh copy of the layer: it drops all writes from that one on, which leaves the disk like a kill.
 */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { dirname, join } from 'node:path'
import type { InstallerOptions } from '../../src/install/install-plan.ts'

const [, , specs = '', given = '{}', when = '0'] = process.argv
const { cpSync } = fs
const step = when.startsWith('every ') ? Number(when.slice('every '.length)) : undefined
let writes = 0
let dieAt = Number.POSITIVE_INFINITY
const WRITES = ['mkdirSync', 'mkdtempSync', 'openSync', 'writeSync', 'fsyncSync', 'renameSync', 'rmSync'] as const
for (const name of WRITES) {
  const original = fs[name] as (...args: unknown[]) => unknown
  const wrapped = (...args: unknown[]): unknown => {
    if (name === 'openSync' && !String(args[1]).includes('w')) return original(...args)
    writes++
    if (writes === dieAt && name === 'writeSync') original(args[0], (args[1] as Uint8Array).subarray(0, 3))
    if (writes >= dieAt && step === undefined) process.kill(process.pid, 'SIGKILL')
    if (writes >= dieAt) throw new Error('dead')
    return original(...args)
  }
  Object.assign(fs, { [name]: wrapped })
}
syncBuiltinESMExports()

const { Installer } = await import('../../src/index.ts')
const options = JSON.parse(given) as InstallerOptions

async function run(over: InstallerOptions): Promise<void> {
  writes = 0
  const installer = new Installer(over)
  for (const spec of specs.split(',')) {
    if (spec.startsWith('-')) await installer.uninstall(spec.slice(1))
    else await installer.install(await installer.plan(spec), 'ann')
  }
}

if (step !== undefined) {
  const from = options.loader.roots.global!
  const copies: string[] = []
  for (let at = 1 + Math.floor(Math.random() * step), alive = false; !alive; at += step) {
    dieAt = Number.POSITIVE_INFINITY
    const copy = join(dirname(from), `died-at-${at}`)
    cpSync(from, copy, { recursive: true })
    dieAt = at
    alive = await run({ ...options, loader: { ...options.loader, roots: { global: copy } } }).then(
      () => true, () => false,
    )
    copies.push(copy)
  }
  process.stdout.write(JSON.stringify(copies))
} else {
  dieAt = Number(when) || Number.POSITIVE_INFINITY
  await run(options)
}
