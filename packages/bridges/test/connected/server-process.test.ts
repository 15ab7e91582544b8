import { setImmediate as turn } from 'node:timers/promises'
import type { ServerJail } from '@bulkhead/contract'
import { expect, it } from 'vitest'
import { ServerProcess } from '../../src/connected/server-process.ts'

it('is closed when its jail has removed what it put into the workspace', async () => {
  let isReleased = false
  const jail: ServerJail = {
    prepare: async ({ command, cwd, env }) => ({
      command, cwd, env, descriptors: [], watch: () => undefined,
      async release() {
        for (let at = 0; at < 100; at++) await turn()
        isReleased = true
      },
    }),
    findFault: async () => undefined,
  }
  const server = new ServerProcess({
    command: ['cat'], cwd: '/', env: { PATH: process.env['PATH'] ?? '' },
    jail: { of: jail, grant: { read: [], write: [], hosts: [] }, keys: [], onKeyUse: () => undefined },
    onOutput: () => undefined, onStderr: () => undefined, onEnd: () => undefined,
  })
  await server.start()
  await server.close()
  expect(isReleased).toBe(true)
})
