import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { excessOf } from '../../src/jail/watch-tree.ts'

const SHARED = '/dev/shm'
const MEMORY = /^more than \d+ MB of memory$/

/** Runs a program until the test ends. Resolves when it has written a line. */
async function start(program: string, ...args: readonly string[]): Promise<ChildProcess & { readonly pid: number }> {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'], detached: true })
  // Its children are in its group. It may have ended.
  onTestFinished(() => void (child.exitCode === null && process.kill(-child.pid!, 'SIGKILL')))
  await new Promise((resolve, reject) => {
    child.stdout!.once('data', resolve)
    child.once('exit', () => reject(new Error(`${program} ended`)))
  })
  return child as ChildProcess & { readonly pid: number }
}

/** Maps a file in memory of 192 MB, and reads it. SQLite is the only part of Node that maps files. */
const MAPPING = `
  const database = new (require('node:sqlite').DatabaseSync)(process.argv[1])
  database.exec('PRAGMA mmap_size = 1073741824')
  database.exec('PRAGMA journal_mode = OFF; CREATE TABLE IF NOT EXISTS part (content BLOB)')
  const { count } = database.prepare('SELECT count(*) AS count FROM part').get()
  const insert = database.prepare('INSERT INTO part VALUES (zeroblob(1048576))')
  for (let at = count; at < 192; at++) insert.run()
  database.prepare('SELECT max(substr(content, -1)) FROM part').get()
`
const READY = "\nconsole.log('ready'); process.stdin.resume()"

describe('the memory of a tree of processes', needs('Linux'), () => {
  const database = (): string => {
    const folder = mkdtempSync(join(SHARED, 'bulkhead-watch-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    return join(folder, 'shared.db')
  }
  const excess = (pid: number, memoryMb: number) => excessOf(pid, { tasks: 512, memoryMb }, [])

  it('includes shared memory', async () => {
    const { pid } = await start(process.execPath, '-e', MAPPING + READY, database())
    expect(await excess(pid, 150)).toMatch(MEMORY)
    expect(await excess(pid, 350)).toBeUndefined()
  })

  it('counts what several processes share once', LONG, async () => {
    const file = database()
    const child = `require('node:child_process').spawnSync(process.execPath, ['-e', process.argv[2], process.argv[1]], {
      stdio: 'inherit' })`
    const { pid } = await start(process.execPath, '-e', MAPPING + child, file, MAPPING + READY)
    expect(await excess(pid, 200)).toMatch(MEMORY)
    // Twice 192 MB are mapped.
    expect(await excess(pid, 380)).toBeUndefined()
  })

  it('includes memory files that are not mapped', { ...needs('perl'), ...LONG }, async () => {
    const number = { x64: 319, arm64: 279 }[process.arch as 'x64' | 'arm64']
    const { pid } = await start('perl', '-e', `
      my $name = 'kept'; my $fd = syscall(${number}, $name, 0); open(my $file, '+<&=', $fd); my $part = 'x' x 1048576;
      syswrite($file, $part) for 1 .. 192; $| = 1; print "ready\n"; <STDIN>`)
    expect(await excess(pid, 150)).toMatch(MEMORY)
    expect(await excess(pid, 250)).toBeUndefined()
  })

  it('does not include files on a disk', LONG, async () => {
    const { pid } = await start(process.execPath, '-e', `require('node:fs').readFileSync(process.execPath)${READY}`)
    expect(await excess(pid, 300)).toBeUndefined()
    expect(await excessOf(pid, { tasks: 1, memoryMb: 300 }, [])).toBe('more than 1 processes and threads')
  })
})
