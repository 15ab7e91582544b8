import { expect, it } from 'vitest'
import { ConnectionFaults } from '../../../src/mcp/connecting/connection-faults.ts'

it('a server that ends before it has read everything has exited', () => {
  const config = { type: 'local' as const, command: ['server'] }
  const faults = new ConnectionFaults({ name: 'ship', config }, { last: 'no such file', lines: [] }, (text) => text)
  expect(faults.ofOpening(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }))).toMatchObject({
    code: 'ServerUnavailable',
    message: 'mcp server ship is unavailable: it exited during startup. Last line of its standard error: no such file.',
  })
})
