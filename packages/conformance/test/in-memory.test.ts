import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { inMemory } from '../../../scripts/check/in-memory.mjs'

const ROOT = join(import.meta.dirname, '../../..')

it('the temporary files of a command are in memory where this user may mount, and seen by no other', () => {
  const [command = '', ...args] = [...inMemory(ROOT, Infinity), process.execPath]
  const code = 'const { tmpdir } = require("node:os"), fs = require("node:fs")\n'
    + 'fs.writeFileSync(`${tmpdir()}/of-the-command`, "")\nprocess.stdout.write(String(fs.statfsSync(tmpdir()).type))'
  const { stdout, status } = spawnSync(command, [...args, '-e', code], { encoding: 'utf8' })
  const isMounted = command === 'unshare'
  expect(status).toBe(0)
  expect(existsSync(join(tmpdir(), 'of-the-command'))).toBe(!isMounted)
  if (isMounted) expect(Number(stdout)).toBe(0x0102_1994)
  else {
    expect(Number(stdout)).toBe(statfsSync(tmpdir()).type)
    rmSync(join(tmpdir(), 'of-the-command'))
  }
})

it('they stay on the disk with too little memory, or if the workspace is in the folder', () => {
  expect(inMemory(ROOT, 2 ** 30)).toEqual([])
  const root = mkdtempSync(join(tmpdir(), 'bulkhead-memory-'))
  expect(inMemory(root, Infinity)).toEqual([])
  rmSync(root, { recursive: true })
})
