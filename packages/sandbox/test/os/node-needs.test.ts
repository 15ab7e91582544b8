import { realpathSync, statSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { nodeInside, nodeNeeds } from '../../src/os/installed-layers.ts'

const MB = 1024 * 1024

describe('the needs of Node', () => {
  it('are existing libraries, and memory for one thread', async () => {
    const { libraries, memory } = await nodeNeeds(process.execPath, 10_000)
    expect(libraries.filter((path) => !statSync(path).isFile())).toEqual([])
    expect(libraries.map((path) => realpathSync(path))).not.toContain(realpathSync(process.execPath))
    expect(Object.values(memory!).filter((bytes) => bytes < MB || bytes > 4_096 * MB)).toEqual([])
  })

  it('cannot be determined for a program that does not start', async () => {
    await expect(nodeNeeds('/nowhere/node', 10_000)).rejects.toThrow('Node itself does not start here')
  })
})

describe('the path of Node inside', () => {
  it('reveals nothing about its path outside', () => {
    expect(nodeInside('/home/ann/tools/bin/node', ['/lib/libc.so.6'])).toBe('/node')
  })

  it('stays the same when libraries are found relative to it', () => {
    expect(nodeInside('/opt/env/bin/node', ['/lib/libc.so.6', '/opt/env/lib/libuv.so.1'])).toBe('/opt/env/bin/node')
  })
})
