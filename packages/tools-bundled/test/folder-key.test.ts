import { describe, expect, it } from 'vitest'
import { folderKey, ownFolderKey } from '../src/model/paths.ts'

describe('the approval key of a path', () => {
  it.each([
    ['a.txt', '.'], ['./a.txt', '.'], ['src/a.txt', 'src'], ['./src//deep/a.txt', 'src/deep'], ['/etc/passwd', '/etc'], ['/a', '/'],
    ['src/../lib/a', 'lib'], ['../a', '..'], ['a/../../b', '..'], ['/../a', '/'], ['a\nb/c', 'a%0Ab'], ['100%/c', '100%25'],
  ])('%j has the key %j', (path, key) => {
    expect(folderKey(path)).toBe(key)
  })

  it('is the folder itself for a folder', () => {
    expect([ownFolderKey(), ownFolderKey('.'), ownFolderKey('src/'), ownFolderKey('/')]).toEqual(['.', '.', 'src', '/'])
  })
})
