import { expect, it } from 'vitest'
import { isResourceShortage, mentionsResourceShortage, succeeds } from '@bulkhead/kit/try-program'

const sh = (script: string): Promise<boolean> => succeeds(['/bin/sh', '-c', script])

it('reports whether a program ends with exit code 0', async () => {
  expect(await sh('exit 0')).toBe(true)
  expect(await sh('exit 1')).toBe(false)
  expect(await sh('kill -TERM $$')).toBe(false)
})

it('reports that a missing program does not work', async () => {
  expect(await succeeds(['/no/such/program'])).toBe(false)
})

it.each([
  ['is killed', 'kill -KILL $$'],
  ['aborts', 'kill -ABRT $$'],
  ['prints a shortage', 'echo "fork: Resource temporarily unavailable" >&2; exit 1'],
])('rejects if the program %s, because the answer is unknown', async (_, script) => {
  await expect(sh(script)).rejects.toMatchObject({ code: 'EAGAIN' })
})

it('passes no environment on', async () => {
  expect(await sh('[ -z "$HOME" ]')).toBe(true)
})

it('recognizes shortages by code and by message', () => {
  for (const code of ['EAGAIN', 'EMFILE', 'ENFILE', 'ENOMEM', 'ERR_WORKER_INIT_FAILED']) {
    expect(isResourceShortage({ code }), code).toBe(true)
  }
  for (const error of [{ code: 'ENOENT' }, { code: 11 }, new Error('EAGAIN'), null, undefined]) {
    expect(isResourceShortage(error)).toBe(false)
  }
  for (const line of ['sh: fork: Resource temporarily unavailable', 'Too many open files', 'spawn EAGAIN', 'uv_thread_create']) {
    expect(mentionsResourceShortage(line), line).toBe(true)
  }
  expect(mentionsResourceShortage('setpriv: unknown option')).toBe(false)
})
