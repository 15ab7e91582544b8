import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  mkdtempSync, readdirSync, readFileSync, readlinkSync, realpathSync, statSync, symlinkSync, writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { configure, gitIn, repositoryIn, writeIn } from '../../../git/test/repository.ts'

/** Content of a file outside the workspace. No command that runs unasked may print it. */
export const CANARY = 'canary 7f3a9'

export interface PlantedWorkspace {
  readonly root: string
  readonly workspace: string
  /** A file outside. */
  readonly canary: string
  /** A path outside at which nothing exists. */
  readonly absent: string
}

/**
 * A workspace that an attacker prepared: links that lead out, files named like options, and a repository in which every
 * setting
 * that can name a program names one that leaves a trace.
 */
export function plantedWorkspace(): PlantedWorkspace {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-planted-')))
  const outside = join(root, 'outside')
  const canary = join(outside, 'canary')
  writeIn(outside, 'canary', `${CANARY}\n`)
  writeFileSync(join(outside, 'evil'), `#!/bin/sh\ntouch ${outside}/ran-$$\n`, { mode: 0o755 })
  const workspace = repositoryIn(join(root, 'workspace'), {
    'a.txt': 'one\ntwo\n', 'b.txt': 'one\nthree\n', 'src/x.ts': 'one\n', 'package.json': '{"name":"p"}\n',
    'names': `${canary}\n`,
    '.gitattributes': 'a.txt diff=evil filter=evil\n',
  })
  gitIn(workspace, 'tag', 'v1')
  plantSubmodule(workspace, join(outside, 'evil'))
  writeIn(workspace, 'a.txt', 'one\n2\n')
  symlinkSync(canary, join(workspace, 'link'))
  symlinkSync(outside, join(workspace, 'linked'))
  // What programs with response files take for one, and what a pattern must not turn into an option.
  writeIn(workspace, '@names', 'nothing\n')
  writeIn(workspace, '-o', 'nothing\n')
  spawnSync('tar', ['czf', 'x.tgz', 'a.txt'], { cwd: workspace })
  spawnSync('sh', ['-c', 'gzip < a.txt > x.gz'], { cwd: workspace })
  for (const [key, value] of Object.entries(settings(join(outside, 'evil'), canary))) configure(workspace, key, value)
  return { root, workspace, canary, absent: join(outside, 'written') }
}

const settings = (evil: string, canary: string): Readonly<Record<string, string>> => ({
  'core.fsmonitor': evil, 'core.pager': evil, 'core.sshCommand': evil, 'core.askPass': evil, 'core.editor': evil,
  'core.alternateRefsCommand': evil, 'core.hooksPath': join(evil, '..'), 'diff.external': evil,
  'diff.evil.command': evil, 'diff.evil.textconv': evil, 'filter.evil.clean': evil, 'filter.evil.smudge': evil,
  'filter.evil.process': evil, 'gpg.program': evil, 'gpg.ssh.program': evil, 'log.showSignature': 'true',
  'pager.log': evil, 'pager.diff': evil, 'pager.status': evil, 'credential.helper': evil,
  'remote.origin.url': `ext::${evil}`, 'remote.origin.uploadpack': evil, 'protocol.ext.allow': 'always',
  'status.submoduleSummary': 'true', 'diff.submodule': 'diff', 'submodule.recurse': 'true', 'alias.log': `!${evil}`,
  'mailmap.file': canary, 'uploadpack.packObjectsHook': evil, 'trailer.x.command': evil, 'interactive.diffFilter': evil,
})

/** A submodule that lacks an object, and names a program that fetches it. */
function plantSubmodule(workspace: string, evil: string): void {
  const sub = repositoryIn(join(workspace, 'sub'))
  const before = gitIn(sub, 'rev-parse', 'HEAD').trim()
  writeIn(sub, 'a.txt', 'changed\n')
  gitIn(sub, 'commit', '-qam', 'second')
  writeIn(workspace, '.gitmodules', '[submodule "sub"]\n\tpath = sub\n\turl = ./sub\n')
  gitIn(workspace, 'add', '.gitmodules', 'sub')
  gitIn(workspace, 'commit', '-qm', 'with a submodule')
  const recorded = gitIn(sub, 'rev-parse', 'HEAD').trim()
  spawnSync('rm', ['-f', join(sub, '.git/objects', recorded.slice(0, 2), recorded.slice(2))])
  writeIn(sub, '.git/refs/heads/main', `${before}\n`)
  const partial = {
    'core.repositoryformatversion': '1', 'extensions.partialClone': 'origin', 'remote.origin.promisor': 'true',
    'remote.origin.url': sub, 'remote.origin.uploadpack': evil, 'protocol.allow': 'always',
    'protocol.file.allow': 'always', 'core.fsmonitor': evil, 'filter.evil.clean': evil,
  }
  for (const [key, value] of Object.entries(partial)) configure(sub, key, value)
  writeIn(sub, '.git/info/attributes', '* filter=evil\n')
}

/** Every file below a folder with its content. Two snapshots differ if something was written, created or removed. */
export function snapshot(folder: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  const visit = (path: string): void => {
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      const at = join(path, entry.name)
      if (entry.isSymbolicLink()) found.set(at, `-> ${readlinkSync(at)}`)
      else if (entry.isDirectory()) visit(at)
      else found.set(at, `${statSync(at).mtimeMs} ${createHash('sha1').update(readFileSync(at)).digest('hex')}`)
    }
  }
  visit(folder)
  return found
}

/** The files that differ between two snapshots. */
export const changed = (before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): readonly string[] =>
  [...new Set([...before.keys(), ...after.keys()])].filter((path) => before.get(path) !== after.get(path))
