import { expect, it } from 'vitest'
import { processEnd } from '../../src/os/spawn-hull.ts'

it.each([
  [0, null, 'code 0'],
  [7, null, 'code 7'],
  [null, 'SIGKILL', 'SIGKILL'],
  [137, null, 'SIGKILL'],
  [134, null, 'SIGABRT'],
  [133, null, 'SIGTRAP'],
  [128, null, 'code 128'],
  [255, null, 'code 255'],
] as const)('an end with code %s and signal %s is reported as %3$s', (code, signal, name) => {
  expect(processEnd(code, signal)).toBe(name)
})
