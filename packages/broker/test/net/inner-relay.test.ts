import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'
import { expect, it } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { besideRelay } from '../../src/net/inner-relay.ts'

const endOf = (script: string): Promise<unknown[]> => {
  const [program = '', ...args] = besideRelay(['/bin/sh', '-c', script], [])
  return once(spawn(program, args, { stdio: 'ignore' }), 'exit')
}

it('a command beside the relay ends as it would alone', LONG, async () => {
  expect(await Promise.all([endOf('exit 3'), endOf('kill -TERM $$'), endOf('kill -KILL $$')]))
    .toEqual([[3, null], [null, 'SIGTERM'], [null, 'SIGKILL']])
})

it('a signal that does not end Node becomes the exit code that a shell gives it', LONG, async () => {
  expect(await Promise.all([endOf('kill -PIPE $$'), endOf('kill -USR1 $$')]))
    .toEqual([[128 + constants.signals.SIGPIPE, null], [128 + constants.signals.SIGUSR1, null]])
})
