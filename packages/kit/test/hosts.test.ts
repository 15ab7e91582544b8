import { expect, it } from 'vitest'
import { hostCovers, isThisMachine } from '../src/hosts.ts'

it.each([
  'http://localhost:80', 'http://LOCALHOST', 'http://127.0.0.1', 'http://127.1/', 'http://127.9.8.7:1/x',
  'http://[::1]:5/', 'http://0x7f.1/',
])('%s is this machine', (url) => {
  expect(isThisMachine(new URL(url))).toBe(true)
})

it.each([
  'http://localhost.example', 'http://127.0.0.1.example', 'http://x.localhost', 'http://10.0.0.1', 'http://0.0.0.0',
  'http://[::]/', 'http://a@127.0.0.1.example',
])('%s is not this machine', (url) => {
  expect(isThisMachine(new URL(url))).toBe(false)
})

it.each(['*', '*.0.0.1', '*.1]'])('%s covers no address', (pattern) => {
  expect(['10.0.0.1', '[::1]', '127.0.0.1'].filter((host) => hostCovers(pattern, host))).toEqual([])
})
