import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'

test('what could not be loaded for lack of descriptors is loaded when there are some', () => {
  const script = `ulimit -n 256; exec '${process.execPath}' --no-warnings '${join(import.meta.dirname, 'crowded-child.ts')}'`
  const { stdout, stderr } = spawnSync('/bin/sh', ['-c', script], { encoding: 'utf8' })
  expect(stderr).toBe('')
  expect(JSON.parse(stdout)).toEqual({ crowded: ['EMFILE', 'EMFILE'], later: [true, 'trustRoot'] })
})
