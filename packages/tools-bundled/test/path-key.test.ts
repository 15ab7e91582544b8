import { describe, expect, it } from 'vitest'
import { filesKey, pathKey } from '../src/model/paths.ts'

describe('the approval key of a path', () => {
  it.each([
    ['a.txt', 'a.txt'], ['./a.txt', 'a.txt'], ['./src//deep/a.txt', 'src/deep/a.txt'], ['/etc/passwd', '/etc/passwd'],
    ['src/../lib/a', 'lib/a'], ['../a', '../a'], ['a/../../b', '../b'], ['/../a', '/a'], ['a\nb/c', 'a%0Ab/c'],
    ['100%/c', '100%25/c'], ['.', '.'], ['src/', 'src'], ['/', '/'],
  ])('%j has the key %j', (path, key) => {
    expect(pathKey(path)).toBe(key)
  })

  it('of several is no key of one', () => {
    expect(filesKey(['b', 'a', 'b'])).toBe('a // b')
    expect(pathKey('a // b')).toBe('a / b')
  })
})
