import { generateKeyPairSync, hash, randomBytes, sign, type KeyObject } from 'node:crypto'
import { createSecureContext, type SecureContext } from 'node:tls'
import { AsnConvert, OctetString } from '@peculiar/asn1-schema'
import {
  AlgorithmIdentifier, AttributeTypeAndValue, AttributeValue, AuthorityKeyIdentifier, BasicConstraints, Certificate,
  ExtendedKeyUsage, Extension, Extensions, GeneralName, GeneralSubtree, GeneralSubtrees, id_ce_authorityKeyIdentifier,
  id_ce_basicConstraints, id_ce_extKeyUsage, id_ce_keyUsage, id_ce_nameConstraints, id_ce_subjectAltName,
  id_ce_subjectKeyIdentifier, id_kp_serverAuth, KeyIdentifier, KeyUsage, KeyUsageFlags, Name, NameConstraints,
  RelativeDistinguishedName, SubjectAlternativeName, SubjectKeyIdentifier, SubjectPublicKeyInfo, TBSCertificate,
  Validity,
} from '@peculiar/asn1-x509'

/** A certificate authority for a few hosts. Its key exists in this process only. */
export interface Authority {
  /** In PEM. */
  readonly certificate: string
  /** What a TLS server needs to be one of the hosts. Contract: `host` is one of them. */
  identityOf(host: string): SecureContext
}

const ECDSA_WITH_SHA256 = '1.2.840.10045.4.3.2'
const COMMON_NAME = '2.5.4.3'
/** A clock inside a virtual machine may be behind. */
const BEFORE_MS = 60 * 60 * 1000
/** A server may run for long. Some clients refuse certificates that are valid for longer than 398 days. */
const VALID_MS = 390 * 24 * 60 * 60 * 1000

/** Makes an authority that can vouch for these names and for nothing else. */
export function createAuthority(hosts: readonly string[]): Authority {
  const own = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const issuer = nameOf(`Bulkhead ${randomBytes(8).toString('hex')}`)
  const certificate = issue({
    subject: issuer, issuer, publicKey: own.publicKey, signer: own.privateKey,
    extensions: [
      extension(id_ce_basicConstraints, new BasicConstraints({ cA: true, pathLenConstraint: 0 }), true),
      extension(id_ce_keyUsage, new KeyUsage(KeyUsageFlags.keyCertSign), true),
      extension(id_ce_nameConstraints, constraintsOf(hosts), true),
      extension(id_ce_subjectKeyIdentifier, new SubjectKeyIdentifier(identifierOf(own.publicKey))),
    ],
  })
  const known = new Map<string, SecureContext>()
  return {
    certificate,
    identityOf: (host) => known.getOrInsertComputed(host, () => {
      const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      const cert = issue({
        subject: nameOf(host.slice(0, COMMON_NAME_CHARS)), issuer, publicKey, signer: own.privateKey,
        extensions: [
          extension(id_ce_basicConstraints, new BasicConstraints({ cA: false }), true),
          extension(id_ce_keyUsage, new KeyUsage(KeyUsageFlags.digitalSignature), true),
          extension(id_ce_extKeyUsage, new ExtendedKeyUsage([id_kp_serverAuth])),
          extension(id_ce_authorityKeyIdentifier, new AuthorityKeyIdentifier({
            keyIdentifier: new KeyIdentifier(identifierOf(own.publicKey)),
          })),
          extension(id_ce_subjectAltName, new SubjectAlternativeName([new GeneralName({ dNSName: host })])),
        ],
      })
      return createSecureContext({ key: privateKey.export({ type: 'pkcs8', format: 'pem' }), cert })
    }),
  }
}

const COMMON_NAME_CHARS = 64

/** A permitted name includes those below it, which is the narrowest that a certificate can say. No address is. */
const constraintsOf = (hosts: readonly string[]): NameConstraints => new NameConstraints({
  permittedSubtrees: new GeneralSubtrees(hosts.map((host) => new GeneralSubtree({
    base: new GeneralName({ dNSName: host }),
  }))),
  excludedSubtrees: new GeneralSubtrees(['0.0.0.0/0', '::/0'].map((iPAddress) => new GeneralSubtree({
    base: new GeneralName({ iPAddress }),
  }))),
})

interface Issue {
  readonly subject: Name
  readonly issuer: Name
  readonly publicKey: KeyObject
  readonly signer: KeyObject
  readonly extensions: Extension[]
}

function issue({ subject, issuer, publicKey, signer, extensions }: Issue): string {
  const now = Date.now()
  const algorithm = new AlgorithmIdentifier({ algorithm: ECDSA_WITH_SHA256 })
  const tbsCertificate = new TBSCertificate({
    version: 2, serialNumber: serialNumber(), signature: algorithm, issuer, subject,
    validity: new Validity({ notBefore: new Date(now - BEFORE_MS), notAfter: new Date(now + VALID_MS) }),
    subjectPublicKeyInfo: AsnConvert.parse(publicKey.export({ type: 'spki', format: 'der' }), SubjectPublicKeyInfo),
    extensions: new Extensions(extensions),
  })
  const signature = sign('sha256', Buffer.from(AsnConvert.serialize(tbsCertificate)), signer)
  const certificate = new Certificate({
    tbsCertificate, signatureAlgorithm: algorithm, signatureValue: new Uint8Array(signature).buffer,
  })
  const lines = Buffer.from(AsnConvert.serialize(certificate)).toString('base64').replaceAll(/.{64}/g, '$&\n').trimEnd()
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`
}

/** Positive, and without a leading zero. */
function serialNumber(): ArrayBuffer {
  const bytes = new Uint8Array(randomBytes(16))
  bytes[0] = (bytes[0]! & 0x7f) | 0x40
  return bytes.buffer
}

/** Strict clients follow it from a certificate to its issuer. */
const identifierOf = (key: KeyObject): ArrayBuffer =>
  new Uint8Array(hash('sha256', key.export({ type: 'spki', format: 'der' }), 'buffer').subarray(0, 20)).buffer

const nameOf = (text: string): Name => new Name([new RelativeDistinguishedName([
  new AttributeTypeAndValue({ type: COMMON_NAME, value: new AttributeValue({ utf8String: text }) }),
])])

const extension = (extnID: string, value: object, critical = false): Extension =>
  new Extension({ extnID, critical, extnValue: new OctetString(AsnConvert.serialize(value)) })
