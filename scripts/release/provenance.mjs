import { createHash } from 'node:crypto'

/**
 * Where a package is built. GitHub sets the variables in a workflow; elsewhere only the commit is known.
 * @typedef {{ repository: string | undefined, ref: string | undefined, commit: string }} Source
 */

const WORKFLOW = '.github/workflows/release.yml'

/**
 * What the provenance of a tarball states, in npm's form: which bytes, from which commit, by which workflow.
 * Only the workflow can sign it, with the identity that GitHub gives it.
 * @param {{ name: string, version: string }} manifest
 * @param {Uint8Array} tarball
 * @param {Source} source
 */
export function provenanceStatement({ name, version }, tarball, { repository, ref, commit }) {
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: [{
      name: `pkg:npm/${name.replace('@', '%40')}@${version}`,
      digest: { sha512: createHash('sha512').update(tarball).digest('hex') },
    }],
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'https://slsa-framework.github.io/github-actions-buildtypes/workflow/v1',
        externalParameters: { workflow: { ref, repository, path: WORKFLOW } },
        resolvedDependencies: [{ uri: repository && `git+${repository}@${ref}`, digest: { gitCommit: commit } }],
      },
      runDetails: { builder: { id: 'https://github.com/actions/runner/github-hosted' } },
    },
  }
}
