import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'

const child = fileURLToPath(new URL('crowded-child.ts', import.meta.url))

test('loads again after it ran out of file descriptors', LONG, () => {
  const script = `ulimit -n 256; exec '${process.execPath}' --no-warnings '${child}'`
  const { stdout, stderr } = spawnSync('/bin/sh', ['-c', script], { encoding: 'utf8' })
  expect(stderr).toBe('')
  expect(JSON.parse(stdout)).toEqual({ crowded: ['EMFILE', 'start'], later: [true, 'trustRoot'] })
})
