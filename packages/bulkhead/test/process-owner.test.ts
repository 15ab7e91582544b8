import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { expect, it } from 'vitest'
import { createProcessOwner } from '../src/facade/sidecar.ts'

it('tells whether another process is alive, and differs between hosts', async () => {
  const owner = createProcessOwner()
  expect(owner.isGone(owner.id)).toBe(false)
  expect(owner.isGone(createProcessOwner().id)).toBe(false)
  expect(createProcessOwner().id).not.toBe(owner.id)
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'], { stdio: 'ignore' })
  const [, ...rest] = owner.id.split('-')
  const ofChild = [child.pid, '', ...rest.slice(1)].join('-')
  expect(owner.isGone(ofChild)).toBe(false)
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
  expect(owner.isGone(ofChild)).toBe(true)
})

it('detects a reused process id', () => {
  expect(createProcessOwner().isGone(`${process.pid}-1-x`)).toBe(existsSync('/proc/self/stat'))
})

it.each(['', 'x', '-1-2-3', 'not a process'])('"%s" names no process', (id) => {
  expect(createProcessOwner().isGone(id)).toBe(true)
})
