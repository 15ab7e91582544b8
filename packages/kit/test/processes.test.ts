import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { needs } from '../../../scripts/machine.ts'
import {
  hasProcessMark, isResourceShortage, isUnmarked, MARK_LIMIT, markOption, mentionsResourceShortage, newProcessMark,
  succeeds, workingLaunchers,
} from '@bulkhead/kit/processes'

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
  const lines = [
    'sh: fork: Resource temporarily unavailable', 'Too many open files', 'spawn EAGAIN', 'uv_thread_create',
  ]
  for (const line of lines) {
    expect(mentionsResourceShortage(line), line).toBe(true)
  }
  expect(mentionsResourceShortage('setpriv: unknown option')).toBe(false)
})

const limits = (value: string) => [
  'Limit                     Soft Limit           Hard Limit           Units     ',
  'Max locked memory         8388608              8388608              bytes     ',
  `Max file locks            ${value.padEnd(20)} ${value.padEnd(20)} locks     `,
  'Max pending signals       128000               128000               signals   ',
].join('\n')

it('finds only its own mark in the limits of a process', () => {
  const mark = newProcessMark()
  expect(hasProcessMark(limits(`${mark}`), mark)).toBe(true)
  expect(hasProcessMark(limits(`${mark}`), mark + 1)).toBe(false)
  expect(hasProcessMark(limits(`${mark}0`), mark)).toBe(false)
  expect(hasProcessMark(limits('unlimited').replace('8388608', `${mark}`), mark)).toBe(false)
  expect(hasProcessMark('', mark)).toBe(false)
})

it('detects a process without a mark', () => {
  expect(isUnmarked(limits('unlimited'))).toBe(true)
  expect(isUnmarked(limits('1099511627776'))).toBe(false)
  expect(isUnmarked('')).toBe(false)
})

it('creates random marks and the option of prlimit', () => {
  const marks = Array.from({ length: 100 }, newProcessMark)
  expect(new Set(marks).size).toBe(100)
  expect(marks.every((mark) => mark >= 2 ** 40 && mark < 2 ** 41)).toBe(true)
  expect(markOption(marks[0]!)).toBe(`--locks=${marks[0]}`)
})

it('reads the limits that Linux prints', needs('Linux'), () => {
  expect(readFileSync('/proc/self/limits', 'latin1')).toContain(MARK_LIMIT)
})

it('drops a launcher that does not know its options', async () => {
  const launchers = { setpriv: { path: '/bin/false' }, prlimit: undefined }
  expect(await workingLaunchers(launchers, ['--no-new-privs'])).toEqual({ setpriv: undefined, prlimit: undefined })
})
