import type { Texts } from './en.ts'

import { counting, joining, lasting } from './format.ts'
import { type Factor, mail, type Outcome, type WaysIn, wordsOf } from './mail-text.ts'

const counted = counting('de')
const joined = joining('de')
const lasts = lasting('de')

const worksOnce = (minutes: number | undefined) =>
  minutes === undefined
    ? 'Der Link lässt sich einmal verwenden.'
    : `Der Link gilt ${lasts(minutes)} und lässt sich einmal verwenden.`

const secureYourAccount = [
  'Wenn Sie das nicht waren, setzen Sie sofort Ihr Passwort zurück.',
  'Damit enden alle Sitzungen, Ihre API-Schlüssel werden widerrufen, und zweite Faktoren, die in den letzten 24 Stunden nur mit dem Passwort hinzugefügt wurden, werden entfernt. Melden Sie sich danach an und löschen Sie alle Passkeys und anderen zweiten Faktoren, die Sie nicht kennen.',
]

function stillOpen({ keysRevoked, passkeys, keys }: WaysIn): string[] {
  const ways = [
    ...(passkeys > 0 ? [counted(passkeys, { one: 'Passkey', other: 'Passkeys' })] : []),
    ...(keys > 0 ? [counted(keys, { other: 'API-Schlüssel' })] : []),
  ]
  return [
    ...(keysRevoked ? ['Ihre API-Schlüssel wurden widerrufen.'] : []),
    ...(ways.length > 0 ? [`Zugang zu Ihrem Konto geben weiterhin: ${joined(ways)}.`] : []),
  ]
}

const factors: Record<Factor, { canSignIn: string; canNot: string }> = {
  passkey: {
    canSignIn: 'Sie können sich jetzt mit einem neuen Passkey an Ihrem Konto anmelden.',
    canNot: 'Mit einem Ihrer Passkeys können Sie sich nicht mehr an Ihrem Konto anmelden.',
  },
  totp: {
    canSignIn: 'Sie können sich jetzt mit einer Authenticator-App an Ihrem Konto anmelden.',
    canNot: 'Mit einer Authenticator-App können Sie sich nicht mehr an Ihrem Konto anmelden.',
  },
  email: {
    canSignIn: 'Sie können sich jetzt mit Codes an Ihrem Konto anmelden, die wir an diese Adresse schicken.',
    canNot: 'Mit Codes an diese Adresse können Sie sich nicht mehr an Ihrem Konto anmelden.',
  },
  static: {
    canSignIn: 'Sie können sich jetzt mit neuen Wiederherstellungscodes an Ihrem Konto anmelden.',
    canNot: 'Mit Ihren Wiederherstellungscodes können Sie sich nicht mehr an Ihrem Konto anmelden.',
  },
}

const factorAdded = mail<{ device: Factor; undo?: string | undefined }>(({ device, undo }, { service }) => ({
  subject: `Neuer zweiter Faktor für Ihr Konto bei ${service}`,
  says: [factors[device].canSignIn],
  ...(undo
    ? {
        next: [
          'Der Faktor wurde nur mit Ihrem Passwort hinzugefügt. Deshalb zählt er in den ersten 24 Stunden noch nicht als zweiter Faktor.',
        ],
        otherwise: [
          'Wenn Sie das nicht waren, entfernen Sie ihn innerhalb dieser Zeit. Dabei enden auch alle Sitzungen. Setzen Sie danach Ihr Passwort zurück, denn jemand anderes kennt es. Später setzen Sie zuerst das Passwort zurück und entfernen den Faktor dann in Ihrem Konto.',
        ],
        undo: 'Zweiten Faktor entfernen',
      }
    : { otherwise: ['Wenn Sie das nicht waren, ändern Sie Ihr Passwort und entfernen Sie den Faktor.'] }),
}))

const outcomes: Record<Outcome, { was: string; next: string }> = {
  approved: {
    was: 'wurde genehmigt',
    next: 'Öffnen Sie die Anfrage, um sie auszuführen. Die Genehmigung gilt einmal.',
  },
  rejected: { was: 'wurde abgelehnt', next: 'Es wurde nichts geändert.' },
  cancelled: { was: 'wurde zurückgezogen', next: 'Es wurde nichts geändert.' },
  executed: { was: 'wurde genehmigt und ausgeführt', next: 'Sie müssen nichts weiter tun.' },
  failed: {
    was: 'wurde genehmigt, ist aber gescheitert',
    next: 'Es wurde nichts geändert. Den Grund sehen Sie in der Anfrage.',
  },
}

const actions = {
  'tenant:update': 'Organisation ändern',
  'tenant:suspend': 'Organisation sperren',
  'tenant:archive': 'Organisation archivieren',
  'tenant:delete': 'Organisation löschen',
  'member:create': 'Mitglied hinzufügen',
  'member:update': 'Mitglied ändern',
  'member:delete': 'Mitglied entfernen',
  'service_account:create': 'Dienstkonto anlegen',
  'service_account:update': 'Dienstkonto ändern',
  'service_account:delete': 'Dienstkonto löschen',
  'api_key:create': 'API-Schlüssel erstellen',
  'api_key:rotate': 'API-Schlüssel ersetzen',
  'api_key:delete': 'API-Schlüssel löschen',
  'role:create': 'Rolle anlegen',
  'role:update': 'Rolle ändern',
  'role:delete': 'Rolle löschen',
  'department:create': 'Abteilung anlegen',
  'department:update': 'Abteilung ändern',
  'department:delete': 'Abteilung löschen',
  'invitation:create': 'Person einladen',
  'policy:create': 'Richtlinie anlegen',
  'policy:update': 'Richtlinie ändern',
  'policy:delete': 'Richtlinie löschen',
  'oauth:authorize': 'Anwendung verwenden',
  'oauth_client:create': 'Anwendung registrieren',
  'oauth_client:update': 'Anwendung ändern',
  'oauth_client:delete': 'Anwendung löschen',
  'oauth_resource:create': 'API registrieren',
  'oauth_resource:update': 'API ändern',
  'oauth_resource:delete': 'API löschen',
  'connection:create': 'Identitätsanbieter verbinden',
  'connection:update': 'Verbindung ändern',
  'connection:delete': 'Verbindung löschen',
  'directory:update': 'Ändern, was Gruppen des Verzeichnisses geben',
  'domain:create': 'Domain beanspruchen',
  'domain:update': 'Domain ändern',
  'domain:delete': 'Domain aufgeben',
  'webhook:create': 'Webhook anlegen',
  'webhook:update': 'Webhook ändern',
}

const roles = { owner: 'Eigentümer', admin: 'Administrator', member: 'Mitglied', auditor: 'Prüfer' }

/** The texts of pages and mails in German. */
export const de: Texts = {
  code: 'de',
  name: 'Deutsch',
  format: 'de-DE',

  actions,

  mails: {
    frame: {
      hello: (firstName) => (firstName ? `Guten Tag ${firstName},` : 'Guten Tag,'),
      plainLink: 'Falls die Schaltfläche nicht funktioniert, öffnen Sie diesen Link:',
      signed: (service) =>
        `Diese E-Mail wurde automatisch von ${service} verschickt. Bitte antworten Sie nicht darauf.`,
    },

    summary: (subject, notSent) => ({
      subject: `${notSent} weitere: ${subject}`,
      says: [
        `innerhalb einer Stunde sind ${counted(notSent, { one: 'weitere E-Mail', other: 'weitere E-Mails' })} mit dem Betreff „${subject}“ für diese Adresse angefallen. Wir haben sie nicht verschickt, weil eine Adresse von jeder Art nur wenige in der Stunde bekommt.`,
        'Melden Sie sich an, um zu sehen, was geschehen ist.',
      ],
      otherwise: ['Wenn Sie das nicht waren, setzen Sie Ihr Passwort zurück.'],
    }),

    letters: {
      email_verification: ({ origin, minutes, reject }, { service, moment }) => ({
        subject: `Bestätigen Sie Ihre E-Mail-Adresse für ${service}`,
        says: [
          ...(origin?.how === 'made'
            ? [`am ${moment(origin.at)} wurde bei ${service} ein Konto mit dieser Adresse angelegt.`]
            : []),
          ...(origin?.how === 'changed'
            ? [
                `am ${moment(origin.at)} wurde diese Adresse bei ${service} als neue Adresse eines Kontos angegeben.`,
              ]
            : []),
          'Wenn Sie das waren, bestätigen Sie bitte, dass diese Adresse Ihnen gehört.',
        ],
        button: 'Adresse bestätigen',
        next: [worksOnce(minutes)],
        ...(reject
          ? {
              otherwise: ['Wenn Sie das nicht waren, entfernen Sie Ihre Adresse aus dem Konto.'],
              undo: 'Das war ich nicht',
            }
          : { otherwise: ['Wenn Sie das nicht waren, müssen Sie nichts tun.'] }),
      }),
      address_already_registered: ({ link, minutes }, { service }) => ({
        ...(link
          ? {
              subject: `Wählen Sie ein Passwort für Ihr Konto bei ${service}`,
              says: [
                'jemand hat sich mit dieser Adresse registriert. Ein Konto mit ihr wurde schon früher angelegt, und die Adresse wurde nie bestätigt.',
                'Wenn Sie sich gerade registriert haben, wählen Sie ein Passwort: Dann gehört das Konto Ihnen. Ein früheres Passwort, seine Sitzungen und seine zweiten Faktoren enden.',
              ],
              button: 'Passwort wählen',
              next: [worksOnce(minutes)],
            }
          : {
              subject: `Sie haben schon ein Konto bei ${service}`,
              says: [
                'jemand wollte sich mit dieser Adresse registrieren. Für sie gibt es schon ein Konto; daran wurde nichts geändert.',
                'Wenn Sie das waren, melden Sie sich wie gewohnt an. Falls Sie Ihr Passwort vergessen haben, setzen Sie es zurück.',
              ],
            }),
        otherwise: ['Wenn Sie das nicht waren, müssen Sie nichts tun.'],
      }),
      invitation: ({ tenantName, inviter, message, expiresAt }, { service, moment }) => ({
        subject: `Einladung in eine Organisation bei ${service}`,
        says: [
          `${inviter || 'eine Person ohne bestätigte Adresse'} lädt Sie in die Organisation „${tenantName}“ ein.`,
          `Nehmen Sie die Einladung an, um Mitglied zu werden. Falls Sie bei ${service} noch kein Konto haben, legen Sie es dabei an.`,
        ],
        quote: message ? { of: 'Persönliche Nachricht', words: `„${message}“` } : undefined,
        button: 'Einladung annehmen',
        next:
          expiresAt === undefined
            ? []
            : [`Die Einladung gilt bis zum ${moment(expiresAt)} und lässt sich einmal annehmen.`],
        otherwise: ['Wenn Sie den Absender nicht kennen, müssen Sie nichts tun.'],
      }),
      added_to_tenant: ({ tenantName, addedBy, link }, { service }) => ({
        subject: `Sie gehören jetzt zu einer Organisation bei ${service}`,
        says: [
          `${addedBy || 'die Verwaltung'} hat Sie als Mitglied in die Organisation „${tenantName}“ aufgenommen.`,
          'Melden Sie sich wie gewohnt an und wechseln Sie dorthin.',
        ],
        ...(link
          ? {
              otherwise: [
                'Wenn Sie den Absender nicht kennen oder kein Mitglied sein möchten, verlassen Sie die Organisation.',
              ],
              undo: 'Organisation verlassen',
            }
          : {}),
      }),
      magic_link: ({ minutes }, { service }) => ({
        subject: `Bei ${service} anmelden`,
        says: [
          'jemand möchte sich mit dieser Adresse anmelden. Wenn Sie das sind, öffnen Sie den Link in dem Browser, in dem Sie ihn angefordert haben.',
        ],
        button: 'Anmelden',
        next: [worksOnce(minutes), 'Leiten Sie diese E-Mail nicht weiter.'],
        otherwise: ['Wenn Sie das nicht sind, müssen Sie nichts tun.'],
      }),
      provider_sign_in: ({ provider, account, minutes }, { service }) => ({
        subject: `Mit ${provider} bei ${service} anmelden`,
        says: [
          `jemand hat sich mit ${provider} angemeldet und diese Adresse angegeben. Die Kennung des Kontos dort ist ${account}. Öffnen Sie den Link nur, wenn Sie das waren.`,
        ],
        button: 'Weiter',
        next: [
          `${worksOnce(minutes)} Danach ist mit dem Konto dort die Anmeldung hier möglich.`,
          'Leiten Sie diese E-Mail nicht weiter.',
        ],
        otherwise: ['Wenn Sie das nicht sind, müssen Sie nichts tun.'],
      }),
      password_reset: ({ minutes }, { service }) => ({
        subject: `Passwort für ${service} zurücksetzen`,
        says: [
          `jemand möchte das Passwort Ihres Kontos bei ${service} zurücksetzen. Wenn Sie das sind, wählen Sie ein neues.`,
        ],
        button: 'Neues Passwort wählen',
        next: [`${worksOnce(minutes)} Mit dem neuen Passwort enden alle Ihre Sitzungen.`],
        otherwise: ['Wenn Sie das nicht sind, müssen Sie nichts tun. Ihr Passwort bleibt, wie es ist.'],
      }),
      password_changed: (ways, { service }) => ({
        subject: `Ihr Passwort für ${service} wurde geändert`,
        says: [
          'das Passwort Ihres Kontos wurde geändert, und Ihre anderen Sitzungen wurden beendet.',
          ...stillOpen(ways),
        ],
        otherwise: secureYourAccount,
      }),
      sessions_ended: (ways, { service }) => ({
        subject: `Ihre Sitzungen bei ${service} wurden beendet`,
        says: ['alle Sitzungen Ihres Kontos wurden auf allen Geräten beendet.', ...stillOpen(ways)],
        otherwise: secureYourAccount,
      }),
      new_sign_in: ({ ip, device: { browser, system }, at }, { service, moment }) => ({
        subject: `Neue Anmeldung an Ihrem Konto bei ${service}`,
        says: ['jemand hat sich an Ihrem Konto angemeldet. Diese Kombination aus Gerät und Netz ist neu.'],
        facts: [
          ['Zeitpunkt', moment(at)],
          ['Browser', browser ?? 'unbekanntes Programm'],
          ...(system ? [['System', system] as [string, string]] : []),
          ['IP-Adresse', ip],
        ],
        next: ['Wenn Sie das waren, müssen Sie nichts tun.'],
        otherwise: secureYourAccount,
      }),
      second_factor_code: ({ minutes }, { service }) => ({
        subject: `Ihr Anmeldecode für ${service}`,
        says: ['hier ist der Code, den Sie angefordert haben.'],
        next: [
          `Er gilt ${lasts(minutes)} und lässt sich einmal verwenden. Wir werden Sie nie nach diesem Code fragen.`,
        ],
        otherwise: [
          'Wenn Sie keinen Code angefordert haben, kennt vielleicht jemand Ihr Passwort. Ändern Sie es.',
        ],
      }),
      second_factor_added: factorAdded,
      young_factor_added: factorAdded,
      identity_linked: ({ provider }, { service }) => ({
        subject: `Eine neue Anmeldung für Ihr Konto bei ${service}`,
        says: [
          `ein Konto bei ${provider} wurde mit Ihrem Konto verknüpft. Damit ist jetzt die Anmeldung möglich.`,
        ],
        otherwise: [
          'Wenn Sie das nicht waren, lösen Sie die Verknüpfung innerhalb von 7 Tagen. Das beendet auch alle Sitzungen.',
        ],
        undo: 'Verknüpfung lösen',
      }),
      identity_unlinked: ({ provider }, { service }) => ({
        subject: `Eine Anmeldung für Ihr Konto bei ${service} wurde entfernt`,
        says: [`die Verknüpfung Ihres Kontos mit dem Konto bei ${provider} wurde gelöst.`],
        otherwise: secureYourAccount,
      }),
      second_factors_locked: ({ minutes }, { service }) => ({
        subject: `Ihre zweiten Faktoren bei ${service} sind vorübergehend gesperrt`,
        says: [
          `für Ihr Konto wurden zu viele falsche Codes eingegeben. Deshalb nehmen wir ${lasts(minutes)} lang keinen zweiten Faktor an, auch keinen richtigen.`,
        ],
        otherwise: ['Wenn Sie das nicht waren, kennt vielleicht jemand Ihr Passwort. Setzen Sie es zurück.'],
      }),
      second_factors_reset: (_, { service }) => ({
        subject: `Ihre zweiten Faktoren bei ${service} wurden entfernt`,
        says: [
          'der Betreiber dieses Dienstes hat alle zweiten Faktoren Ihres Kontos entfernt und alle Sitzungen beendet. Melden Sie sich mit Ihrem Passwort an und fügen Sie wieder einen zweiten Faktor hinzu.',
        ],
        otherwise: [
          'Wenn Sie nicht darum gebeten haben, setzen Sie sofort Ihr Passwort zurück und wenden Sie sich an den Betreiber dieses Dienstes.',
        ],
      }),
      second_factor_removed: ({ device }, { service }) => ({
        subject: `Ein zweiter Faktor Ihres Kontos bei ${service} wurde entfernt`,
        says: [factors[device].canNot],
        otherwise: [
          'Wenn Sie das nicht waren, ändern Sie Ihr Passwort und fügen Sie wieder einen zweiten Faktor hinzu.',
        ],
      }),
      passkey_renamed: ({ before, after }, { service }) => ({
        subject: `Ein Passkey Ihres Kontos bei ${service} wurde umbenannt`,
        says: [`der Passkey „${before}“ Ihres Kontos heißt jetzt „${after}“.`],
        otherwise: [
          'Wenn Sie das nicht waren, setzen Sie Ihr Passwort zurück und entfernen Sie alle Passkeys, die Sie nicht kennen.',
        ],
      }),
      account_cleared: ({ hasPassword, byOperator, tenants, others }, { service }) => ({
        subject: `Ihr Konto bei ${service} wurde gesichert`,
        says: [
          byOperator
            ? 'diese Adresse wurde zum ersten Mal bestätigt: Der Betreiber des Dienstes hat ein neues Passwort gesetzt.'
            : `diese Adresse wurde zum ersten Mal bestätigt, mit einem Link ${hasPassword ? 'zum Zurücksetzen des Passworts' : 'zum Anmelden'}.`,
          `Vorher könnte jemand anderes das Konto benutzt haben. Deshalb wurden ${hasPassword ? '' : 'das Passwort, '}alle zweiten Faktoren, API-Schlüssel und Sitzungen entfernt${byOperator ? '' : ', und das Konto hat eine neue eigene Organisation'}.`,
          ...(tenants.length > 0
            ? [
                `Von früher ist das Konto auch Mitglied in ${joined([...tenants.map((tenant) => `„${tenant}“`), ...(others > 0 ? [`${others} weiteren`] : [])])}. Bei einer Anmeldung öffnen sich diese Organisationen nur, wenn Sie sie auswählen. Verlassen Sie alle, die Sie nicht kennen.`,
              ]
            : []),
        ],
        otherwise: [
          hasPassword
            ? `Wenn Sie kein neues Passwort ${byOperator ? 'verlangt' : 'gewählt'} haben, setzen Sie es sofort zurück.`
            : 'Um sich mit einem Passwort anzumelden, setzen Sie es zurück.',
        ],
      }),
      password_cleared: (_, { service }) => ({
        subject: `Ihr Konto bei ${service} hat kein Passwort`,
        says: [
          'Sie haben diese Adresse mit einem Link zum Anmelden bestätigt. Vorher könnte jemand anderes das Konto angelegt haben. Deshalb wurden sein Passwort, seine zweiten Faktoren und seine Sitzungen entfernt.',
          'Um sich mit einem Passwort anzumelden, setzen Sie es zurück.',
        ],
      }),
      email_changed: ({ newEmail, undo }, { service }) => ({
        subject: `Ihre E-Mail-Adresse bei ${service} wurde geändert`,
        says: [
          `die Adresse Ihres Kontos ist jetzt ${newEmail}. Links, die wir an die bisherige Adresse geschickt haben, funktionieren nicht mehr.`,
        ],
        ...(undo
          ? {
              next: ['Anmeldecodes kommen noch 24 Stunden lang an diese Adresse.'],
              otherwise: [
                'Wenn Sie das nicht waren, machen Sie die Änderung innerhalb von 72 Stunden rückgängig. Dabei enden alle Sitzungen. Setzen Sie danach Ihr Passwort zurück, denn vielleicht kennt es jemand anderes.',
              ],
              undo: 'Änderung rückgängig machen',
            }
          : {
              otherwise: [
                'Wenn Sie das nicht waren, wenden Sie sich sofort an den Betreiber dieses Dienstes. Mit dieser Adresse können Sie Ihr Passwort nicht mehr zurücksetzen.',
              ],
            }),
      }),
      email_change_rejected: ({ email }, { service }) => ({
        subject: `Ihre neue E-Mail-Adresse bei ${service} wurde zurückgewiesen`,
        says: [
          `die Adresse Ihres Kontos wurde auf ${email} geändert. Wer dieses Postfach liest, hat geantwortet, dass die Änderung nicht von dort kam. Deshalb hat Ihr Konto wieder diese Adresse. Alle Sitzungen wurden beendet.`,
          'Falls Sie sich bei der neuen Adresse vertippt haben, melden Sie sich an und ändern Sie sie noch einmal.',
        ],
        otherwise: [
          'Wenn Sie die Adresse nicht geändert haben, setzen Sie Ihr Passwort zurück, denn vielleicht kennt es jemand anderes.',
        ],
      }),
      email_change_undone: ({ email, tenants }, { service }) => ({
        subject: `Die Änderung Ihrer E-Mail-Adresse bei ${service} wurde rückgängig gemacht`,
        says: [
          `die Adresse Ihres Kontos ist wieder ${email}. Die Änderung wurde von diesem Postfach aus rückgängig gemacht. Alle Sitzungen wurden beendet. Entfernt wurde auch, was seit der Änderung zum Konto kam: Mitgliedschaften, zweite Faktoren und API-Schlüssel.`,
          ...(tenants.length > 0
            ? [
                `Das Konto war zuletzt der einzige Eigentümer von ${joined(tenants.map(({ name }) => `„${name}“`))}. Eine Organisation ohne Eigentümer wird archiviert. Bitten Sie den Betreiber dieses Dienstes, diese Adresse zum Eigentümer zu machen. Melden Sie sich danach an und aktivieren Sie die Organisation.`,
              ]
            : []),
        ],
        otherwise: ['Wenn Sie das nicht waren, wenden Sie sich sofort an den Betreiber dieses Dienstes.'],
      }),
      api_key_created: ({ keyName, tenantName, ofAccount }, { service }) => ({
        subject: `Neuer API-Schlüssel ${ofAccount ? 'mit Ihrem' : 'für Ihr'} Konto bei ${service}`,
        says: [
          ofAccount
            ? `mit Ihrem Konto wurde der API-Schlüssel „${keyName}“ für ein Dienstkonto von „${tenantName}“ erstellt. Er darf dort, was seine Berechtigungen und die Rollen des Dienstkontos erlauben.`
            : `der API-Schlüssel „${keyName}“ wurde erstellt. Er darf in „${tenantName}“, was seine Berechtigungen und Ihre Rollen erlauben.`,
        ],
        otherwise: [
          'Wenn Sie das nicht waren, melden Sie sich an, löschen Sie den Schlüssel und ändern Sie Ihr Passwort.',
        ],
      }),
      api_key_leaked: ({ keyName, tenantName, prefix, holder }, { service }) => ({
        subject: `Ein gefundener API-Schlüssel wurde bei ${service} widerrufen`,
        says: [
          `jemand hat den API-Schlüssel „${keyName}“ von ${holder} in „${tenantName}“ gefunden und gemeldet. Deshalb wurde er widerrufen. Er beginnt mit ${prefix} und funktioniert nicht mehr.`,
        ],
        next: [
          'Finden Sie heraus, wo er veröffentlicht war und was mit ihm getan wurde: Das zeigen das Audit-Protokoll und das Protokoll der Entscheidungen. Erstellen Sie dann einen neuen Schlüssel.',
        ],
      }),
      approval_requested: ({ requester, subject, action, object, tenantName, expiresAt }, { moment }) => ({
        subject: `Genehmigung erbeten${wordsOf(actions, action) ? `: ${wordsOf(actions, action)}` : ''}`,
        says: [`${requester} bittet Sie in „${tenantName}“ um eine Genehmigung.`],
        facts: [
          ['Vorhaben', wordsOf(actions, action) ?? action],
          ...(object ? [['Objekt', object] as [string, string]] : []),
          ...(subject ? [['Für', subject] as [string, string]] : []),
          ['Frist', moment(expiresAt)],
        ],
        button: 'Anfrage prüfen',
        next: ['Dort können Sie zustimmen oder ablehnen. Lesen Sie die Anfrage, bevor Sie zustimmen.'],
      }),
      approval_decided: ({ kind, outcome, action, tenantName }) => ({
        subject: `Ihre Anfrage ${outcomes[outcome].was}`,
        says: [`Ihre Anfrage in „${tenantName}“ ${outcomes[outcome].was}.`],
        facts: [['Vorhaben', wordsOf(actions, action) ?? action]],
        button: 'Anfrage öffnen',
        next: [
          kind === 'application' && outcome === 'approved'
            ? 'Führen Sie das Vorhaben in der Anwendung aus, bevor die Genehmigung abläuft. Sie gilt einmal.'
            : outcomes[outcome].next,
        ],
      }),
      domain_missing: ({ tenantName, domain, record, until }, { moment }) => ({
        subject: 'Der Eintrag einer Domain fehlt',
        says: [
          `„${tenantName}“ hat die Domain ${domain} durch einen Eintrag im DNS bestätigt. Der Eintrag ist nicht mehr da.`,
        ],
        facts: [
          ['Eintrag', record],
          ['Die Domain ist verloren am', moment(until)],
        ],
        next: [
          'Tragen Sie ihn wieder ein, und lassen Sie ihn stehen. Ist die Domain verloren, so führen ihre Adressen keine neuen Personen in Ihre Organisation.',
        ],
      }),
      domain_lost: ({ tenantName, domain, record }) => ({
        subject: 'Ihre Organisation hat eine Domain verloren',
        says: [
          `Im DNS fehlt der Eintrag von ${domain} seit 14 Tagen. Deshalb hat „${tenantName}“ die Domain verloren: Ihre Adressen führen keine neuen Personen in Ihre Organisation.`,
        ],
        facts: [['Eintrag', record]],
        next: ['Tragen Sie ihn wieder ein, und bestätigen Sie die Domain dann erneut.'],
      }),
      connection_certificate_ends: ({ tenantName, connection, endsAt }, { moment }) => ({
        subject: 'Ein Zertifikat Ihres Identitätsanbieters endet bald',
        says: [
          `Personen von „${tenantName}“ melden sich mit der Verbindung „${connection}“ an. Das letzte Zertifikat in den Metadaten ihres Identitätsanbieters endet bald. Wenn der Anbieter mit einem neuen unterschreibt, muss die Verbindung es kennen.`,
        ],
        facts: [['Endet', moment(endsAt)]],
        next: [
          'Lassen Sie sich die neuen Metadaten geben, und geben Sie sie der Verbindung. Kennt die Verbindung die Adresse der Metadaten, so gelten neue Zertifikate dort von selbst.',
        ],
      }),
      connection_activator_left: ({ tenantName, connection }) => ({
        subject: 'Aktivieren Sie eine Verbindung neu',
        says: [
          `Personen von „${tenantName}“ melden sich mit der Verbindung „${connection}“ an. Die Person, die sie aktiviert hat, ist nicht mehr dabei oder darf weniger als damals. Die Verbindung funktioniert weiter.`,
        ],
        next: [
          'Probieren Sie die Verbindung selbst aus, und aktivieren Sie sie neu, damit ein heutiger Eigentümer für sie einsteht.',
        ],
      }),
      glass_broken: ({ tenantName, owner, ip, at }, { moment }) => ({
        subject: 'Anmeldung ohne Ihren Identitätsanbieter',
        says: [
          `Die Mitglieder von „${tenantName}“ melden sich mit dem Identitätsanbieter der Organisation an. ${owner} ist dort Eigentümer und hat sich stattdessen mit Passwort und zweitem Faktor angemeldet.`,
        ],
        facts: [
          ['Wann', moment(at)],
          ['IP-Adresse', ip],
        ],
        next: [
          'Wenn das kein Eigentümer wollte, beenden Sie die Sitzungen dieser Person, und bitten Sie sie, das Passwort zu ändern.',
        ],
      }),
      impersonated: ({ tenantName, actor, reason }) => ({
        subject: 'Jemand hat in einer Organisation in Ihrem Namen gehandelt',
        says: [
          `${actor || 'eine Person ohne bestätigte Adresse'} von „${tenantName}“ kann dort 15 Minuten lang in Ihrem Namen handeln.`,
        ],
        quote: { of: 'Angegebener Grund', words: `„${reason}“` },
        next: [
          'Ihr Konto, Ihr Passwort, Ihre zweiten Faktoren und Ihre Sitzungen lassen sich dabei nicht ändern. Das Audit-Protokoll nennt bei allem, was dabei geschieht, Sie beide.',
        ],
        otherwise: [
          'Wenn Sie das nicht erwartet haben, fragen Sie nach: bei dieser Person oder bei einem anderen Eigentümer der Organisation.',
        ],
      }),
    },
  },

  pages: {
    brand: { terms: 'Nutzungsbedingungen', privacy: 'Datenschutz', support: 'Hilfe' },
    email: 'E-Mail-Adresse',
    first_name: 'Vorname',
    last_name: 'Nachname',
    optional: 'optional',
    newPasswordHint: 'Mindestens 8 Zeichen.',
    continue: 'Weiter',
    back: 'Zurück zur Anmeldung',
    change: 'Ändern',
    again: 'Von vorn beginnen',
    errorTitle: 'Das hat nicht geklappt',
    address: {
      title: 'Anmelden',
      lead: 'Geben Sie Ihre E-Mail-Adresse ein.',
      isNew: 'Neu hier?',
      register: 'Konto anlegen',
    },
    realm: {
      title: 'Wie melden Sie sich an?',
      lead: 'Ihre Organisation hat mehrere Wege. Wählen Sie den, den Sie bei der Arbeit verwenden.',
      other: 'Auf andere Weise anmelden',
      toIt: 'Über Ihre Organisation anmelden',
    },
    register: {
      title: 'Konto anlegen',
      isKnown: 'Sie haben schon eines?',
      sent: (email) =>
        `Wir haben eine E-Mail an ${email} geschickt. Öffnen Sie den Link darin in diesem Browser: Er bestätigt die Adresse und meldet Sie an.`,
    },
    forgot: {
      title: 'Passwort zurücksetzen',
      lead: 'Geben Sie die Adresse Ihres Kontos ein. Wir schicken Ihnen einen Link, mit dem Sie ein neues Passwort wählen.',
      send: 'Link senden',
      sent: (email) =>
        `Wenn es zu ${email} ein Konto gibt, haben wir eine E-Mail dorthin geschickt. Mit dem Link darin wählen Sie ein neues Passwort.`,
    },
    mailedLink: {
      send: 'Stattdessen einen Link per E-Mail senden',
      sent: (email) =>
        `Wenn es zu ${email} ein Konto gibt, haben wir eine E-Mail dorthin geschickt. Öffnen Sie den Link darin innerhalb von 15 Minuten in diesem Browser, um sich anzumelden.`,
      again: 'Neuen Link senden',
      password: 'Stattdessen mit dem Passwort anmelden',
    },
    sent: {
      title: 'Sehen Sie in Ihr Postfach',
      notThere: 'Nichts angekommen? Warten Sie einen Moment, und sehen Sie auch im Spam-Ordner nach.',
      otherAddress: 'Eine andere Adresse verwenden',
    },
    password: { title: 'Passwort eingeben', label: 'Passwort', forgot: 'Passwort vergessen?' },
    passkey: {
      signIn: 'Mit einem Passkey anmelden',
      show: 'Passkey verwenden',
      lead: 'Bestätigen Sie mit Ihrem Passkey, dass Sie es sind.',
      noScript: 'Ein Passkey braucht JavaScript. Erlauben Sie es für diese Seite, und laden Sie sie neu.',
      failed:
        'Der Passkey wurde nicht verwendet. Versuchen Sie es noch einmal, oder machen Sie ohne ihn weiter.',
    },
    code: {
      title: 'Bestätigen Sie, dass Sie es sind',
      ofApp: 'Geben Sie den Code aus Ihrer Authenticator-App ein.',
      ofMail: (email) => `Geben Sie den Code ein, den wir an ${email || 'Ihre Adresse'} geschickt haben.`,
      ofList: 'Geben Sie einen Ihrer Wiederherstellungscodes ein.',
      byMail: 'Wir können Ihnen einen Code per E-Mail senden.',
      label: 'Code',
      orRecovery: 'Auch ein Wiederherstellungscode ist möglich.',
      mail: 'Code stattdessen per E-Mail senden',
      send: 'Code per E-Mail senden',
      again: 'Neuen Code senden',
      other: 'Mit einer anderen Adresse anmelden',
      notYet:
        'Der Code stimmt, aber dieser Faktor ist noch zu neu, um hier zu genügen. Zeigen Sie einen anderen, oder kommen Sie morgen wieder.',
      another: 'Anderen Faktor zeigen',
    },
    setUp: {
      title: 'Zweiten Faktor einrichten',
      why: 'Diese Organisation verlangt einen zweiten Faktor, und Sie haben noch keinen.',
      apps: 'Jede Authenticator-App ist geeignet, auch der Passwortmanager Ihres Telefons.',
      passkey: 'Stattdessen einen Passkey einrichten',
      usePasskey: {
        title: 'Ihr Passkey ist bereit',
        lead: 'Verwenden Sie ihn einmal, dann geht es weiter. Später genügt er allein zum Anmelden.',
      },
      begin: 'App einrichten',
      scan: 'Scannen Sie diesen Code mit Ihrer Authenticator-App.',
      qr: 'QR-Code für Ihre Authenticator-App',
      orType: 'Oder geben Sie diesen Schlüssel in die App ein:',
      here: 'Ist die App auf diesem Gerät? Öffnen Sie sie hier.',
      code: 'Code, den die App zeigt',
      anew: 'Neuen QR-Code zeigen',
    },
    recoveryCodes: {
      title: 'Wiederherstellungscodes aufbewahren',
      lead: 'Wenn Sie Ihr Gerät verlieren, melden Sie sich mit einem dieser Codes an. Jeder gilt einmal. Sie werden nur jetzt angezeigt, also bewahren Sie sie sicher auf.',
      download: 'Als Textdatei herunterladen',
      file: 'wiederherstellungscodes.txt',
      kept: 'Ich habe sie aufbewahrt',
    },
    stepUp: { title: 'Bestätigen Sie noch einmal, dass Sie es sind' },
    signedIn: {
      title: 'Sie sind angemeldet',
      switch: 'Organisation wechseln',
      signOut: 'Abmelden',
      invited: (tenant) => `Sie sind zu ${tenant} eingeladen`,
      seeInvitation: 'Einladung ansehen',
    },
    confirmAddress: {
      title: 'Adresse bestätigen',
      isDue: 'Ihre Adresse ist noch nicht bestätigt',
      lead: (email) =>
        `Wir senden einen Link an ${email}. Öffnen Sie ihn, um zu bestätigen, dass die Adresse Ihre ist.`,
      send: 'Link senden',
      sent: (email) =>
        `Wir haben eine E-Mail an ${email} geschickt. Öffnen Sie den Link darin, um die Adresse zu bestätigen.`,
    },
    connected: {
      title: 'Verbundene Anwendungen',
      lead: 'Sie sind bei diesen Anwendungen angemeldet. Eine, die Sie trennen, fragt Sie erneut.',
      none: 'Sie sind bei keiner Anwendung angemeldet.',
      since: (at: string, count: number) => (count === 1 ? `seit ${at}` : `seit ${at}, ${count} Anmeldungen`),
      end: (client: string) => `${client} trennen`,
      more: 'Weitere zeigen',
    },
    organisation: { title: 'Organisation wählen', lead: 'Sie gehören zu mehreren. Wohin möchten Sie?' },
    connectionTest: {
      works: (name) => `${name} funktioniert`,
      lead: (subject) => `Der Anbieter kennt Sie als ${subject}. Das ist alles, was er über Sie sagt:`,
      close: 'Sie können diese Seite schließen und die Verbindung aktivieren.',
      fails: 'Die Anmeldung ging nicht',
      again: 'Ändern Sie die Verbindung oder die Einstellungen beim Anbieter, und versuchen Sie es erneut.',
    },
    provider: {
      goOn: (name) => `Weiter mit ${name}`,
      goOnLead: (name) => `Sie verlassen diese Seite und melden sich mit ${name} an.`,
      leaving: (name) => `Weiter zu ${name}`,
      leavingLead: 'Einen Moment, es geht gleich weiter.',
      fails: (name) => `Die Anmeldung mit ${name} ging nicht`,
      faults: {
        denied: (name) =>
          `${name} teilt mit, dass Sie nicht zugestimmt haben oder es hier nicht verwenden dürfen.`,
        unreachable: (name) =>
          `${name} ist gerade nicht erreichbar. Versuchen Sie es später, oder melden Sie sich anders an.`,
        refused: (name) =>
          `Die Antwort von ${name} wurde nicht angenommen. Versuchen Sie es noch einmal, oder melden Sie sich anders an.`,
        undated: (name) =>
          `Hier müssen Sie sich neu anmelden, und ${name} teilt nicht mit, wann Sie sich dort angemeldet haben. Melden Sie sich anders an.`,
      },
      back: 'Zurück zur Anmeldung',
      address: {
        title: 'Ihre E-Mail-Adresse',
        lead: (name) =>
          `${name} hat keine Adresse genannt. Welche ist Ihre? Sie bekommen eine E-Mail dorthin.`,
      },
      sent: (email) =>
        `Wir haben eine E-Mail an ${email} geschickt. Öffnen Sie deren Link, um weiterzumachen.`,
      replace: {
        title: 'Es ist schon jemand angemeldet',
        lead: (here, account, name) =>
          `Sie sind als ${here} angemeldet. Möchten Sie sich stattdessen mit ${name} als ${account} anmelden?`,
        button: (account) => `Als ${account} anmelden`,
        stay: (here) => `${here} bleiben`,
      },
      confirm: {
        title: (name) => `Mit ${name} anmelden`,
        own: (name, account, email) =>
          `Von jetzt an ist mit ${account} bei ${name} die Anmeldung am Konto ${email} möglich.`,
        elsewhere: (name, account, email) =>
          `In einem anderen Browser hat sich jemand bei ${name} als ${account} angemeldet und die Adresse ${email} angegeben. Von jetzt an könnte diese Person sich am Konto dieser Adresse anmelden. Machen Sie nur weiter, wenn Sie das waren.`,
        button: 'Das war ich: weiter',
      },
      dead: {
        title: 'Das geht nicht mehr',
        lead: 'Es wurde schon verwendet oder ist zu alt. Beginnen Sie von vorn.',
      },
    },
    consent: {
      title: (client: string) => `Weiter zu ${client}`,
      lead: (client: string, tenant: string) => `${client} von ${tenant} möchte wissen:`,
      scopes: {
        ...actions,
        openid: 'wer Sie sind, und dass Sie Mitglied sind',
        profile: 'Ihren Namen, Ihre Sprache und Zeitzone',
        email: 'Ihre E-Mail-Adresse',
        roles: 'Ihre Rollen',
        groups: 'Ihre Rollen und Ihre Abteilung',
        organization: 'den Namen der Organisation',
        offline_access: 'das auch, während Sie nicht da sind, bis Sie seine Sitzung beenden',
        'profile:read': 'Ihr Profil sehen',
        'tenant:list': 'Ihre Organisation sehen',
        'tenant:read': 'die Organisation und ihre Einstellungen sehen',
        'user:list': 'die Liste der Personen sehen',
        'user:read': 'die Personen sehen',
        'member:list': 'die Mitglieder sehen',
        'role:list': 'die Rollen sehen',
        'department:list': 'die Abteilungen sehen',
        'invitation:list': 'die Einladungen sehen',
        'service_account:list': 'die Liste der Dienstkonten sehen',
        'service_account:read': 'die Dienstkonten sehen',
        'policy:list': 'die Liste der Richtlinien sehen',
        'policy:read': 'die Richtlinien sehen',
        'decision:list': 'die Liste der Entscheidungen sehen',
        'decision:read': 'die Entscheidungen sehen',
        'decision:explain': 'sehen, warum etwas entschieden wurde',
        'approval_request:list': 'die Genehmigungsanfragen sehen',
        'approval_request:read': 'eine Genehmigungsanfrage sehen',
        'access:evaluate': 'fragen, was Personen dürfen',
        'audit:list': 'das Audit-Log sehen',
        'event:list': 'die Ereignisse sehen',
        'webhook:list': 'die Webhooks sehen',
        'oauth_client:list': 'die Liste der Anwendungen sehen',
        'oauth_client:read': 'die Anwendungen sehen',
      },
      acts: (api: string) => `In Ihrem Namen möchte es bei ${api}:`,
      leadsTo: (host: string) => `Es führt Sie zu ${host}.`,
      allow: 'Weiter',
      deny: 'Abbrechen',
      other: 'Ein anderes Konto verwenden',
      gone: 'Diese Anfrage ist vorbei. Gehen Sie zur Anwendung zurück, und beginnen Sie neu.',
    },
    access: {
      denied: (client) => `Sie können ${client} nicht verwenden`,
      reasons: {
        no_active_membership: 'Sie sind kein Mitglied der Organisation, der die Anwendung gehört.',
        policy_deny: 'Die Regeln der Organisation lassen Sie nicht hinein.',
        policy_timeout:
          'Die Regeln der Organisation haben nicht rechtzeitig geantwortet. Versuchen Sie es später noch einmal.',
        policy_failed:
          'Eine Regel der Organisation ist fehlgeschlagen. Sagen Sie es denen, die die Organisation verwalten.',
        no_eligible_approver: 'Eine andere Person müsste zustimmen, und es gibt keine, die das kann.',
        step_up_impossible:
          'Die Regeln der Organisation verlangen einen zweiten Faktor, und Sie haben keinen, der hier möglich ist.',
        tenant_suspended: 'Die Organisation ist gesperrt.',
        tenant_archived: 'Die Organisation ist geschlossen.',
        impersonation_not_allowed: 'Wer als ein anderes Mitglied handelt, kann das nicht.',
      },
      decision: 'Wer die Organisation verwaltet, findet mit dieser Nummer heraus, warum:',
      back: (client) => `Zurück zu ${client}`,
      ask: (client) => `Zugang zu ${client} anfragen`,
      lead: (client, host) =>
        `Nach den Regeln der Organisation muss eine andere Person zustimmen, bevor Sie ${client} unter ${host} verwenden.`,
      send: 'Zugang anfragen',
      rejected: 'Ihre Anfrage wurde abgelehnt',
      rejectedAt: (at: string) => `Sie wurde am ${at} abgelehnt. Sie können erneut anfragen.`,
      sendAgain: 'Erneut anfragen',
      waits: 'Ihre Anfrage wartet',
      until: (client, at) =>
        `Wer Ihnen Zugang zu ${client} geben kann, hat eine E-Mail bekommen. Sie bekommen eine, sobald entschieden ist. Kommen Sie dann hierher zurück, oder beginnen Sie in der Anwendung neu. Ihre Anfrage endet am ${at}.`,
      look: 'Noch einmal nachsehen',
    },
    device: {
      title: 'Ein Gerät verbinden',
      lead: 'Geben Sie den Code ein, den Ihr Gerät zeigt.',
      compare: 'Fahren Sie nur fort, wenn Ihr Gerät genau diesen Code zeigt.',
      yours: 'Ihrem Gerät',
      label: 'Code',
      hint: 'Acht Buchstaben, zum Beispiel BCDF-GHJK.',
      question: 'Haben Sie das begonnen?',
      from: (place) => `Die Anfrage kam von ${place}.`,
      warning:
        'Wenn Ihnen jemand den Code oder einen Link dazu geschickt hat, brechen Sie ab: Dessen Gerät hätte dann Ihr Konto.',
      connected: 'Ihr Gerät ist verbunden',
      goBack: 'Gehen Sie zum Gerät zurück. Sie können diese Seite schließen.',
      refused: 'Das Gerät ist nicht verbunden',
      nothingGiven: 'Es hat nichts von Ihnen bekommen. Sie können diese Seite schließen.',
      over: 'Dieser Code gilt nicht mehr',
      beginAgain: 'Beginnen Sie am Gerät neu. Es zeigt dann einen neuen Code.',
    },
    application: {
      title: 'Die Anwendung hat etwas verlangt, das nicht geht',
      lead: 'Sagen Sie es denen, die die Anwendung betreiben:',
      leave: 'Einen Moment: Es geht weiter.',
    },
    signedOut: {
      title: 'Sie sind abgemeldet',
      lead: 'Sie können diese Seite schließen.',
      again: 'Wieder anmelden',
    },
    leave: { title: 'Sie sind angemeldet', lead: 'Einen Moment, es geht zurück.' },
    links: {
      incomplete: {
        title: 'Dieser Link ist unvollständig',
        lead: 'Öffnen Sie ihn noch einmal aus der E-Mail, in einem Browser, der Cookies annimmt.',
      },
      expired: 'Dieser Link ist abgelaufen',
      used: 'Dieser Link gilt nicht mehr',
      close: 'Sie können diese Seite schließen.',
      signIn: 'Anmelden',
      resetPassword: 'Neues Passwort wählen',
      notMe: 'Das war ich nicht',
      newPassword: 'Neues Passwort',
      made: (at) => `Am ${at} wurde ein Konto mit dieser Adresse angelegt.`,
      changed: (at) => `Am ${at} sollte die Adresse eines Kontos auf diese geändert werden.`,
      email_verification: {
        title: 'E-Mail-Adresse bestätigen',
        lead: 'Bestätigen Sie, dass diese Adresse Ihnen gehört.',
        button: 'Adresse bestätigen',
        done: {
          title: 'Ihre Adresse ist bestätigt',
          lead: 'Machen Sie dort weiter, wo Sie herkommen, oder melden Sie sich hier an.',
        },
        dead: 'Er wurde schon verwendet oder durch einen neueren ersetzt. Ist Ihre Adresse noch nicht bestätigt, melden Sie sich an und fordern Sie einen neuen Link an.',
      },
      email_rejection: {
        title: 'Das war ich nicht',
        lead: 'Sie haben dieses Konto nicht angelegt oder ihm Ihre Adresse nicht gegeben? Dann entfernen Sie die Adresse. Ein Konto, dessen Adresse nie bestätigt wurde, wird gelöscht. Ein Konto, das vorher eine andere Adresse hatte, bekommt diese zurück.',
        button: 'Meine Adresse entfernen',
        done: { title: 'Ihre Adresse ist entfernt', lead: 'Sie gehört zu keinem Konto mehr.' },
        dead: 'Ihre Adresse ist vielleicht schon entfernt. Kommen weiter E-Mails zu dem Konto, wählen Sie ein neues Passwort: Dann gehört das Konto Ihnen, und Sie können es schließen.',
      },
      password_reset: {
        title: 'Neues Passwort wählen',
        lead: 'Damit enden alle Ihre Sitzungen.',
        button: 'Passwort setzen',
        done: {
          title: 'Ihr Passwort ist geändert',
          lead: 'Alle Sitzungen sind beendet. Melden Sie sich mit dem neuen Passwort an.',
        },
        dead: 'Links gelten einmal und nur kurze Zeit. Fordern Sie einen neuen an.',
      },
      email_undo: {
        title: 'Änderung der Adresse zurücknehmen',
        lead: 'Sie haben die Adresse Ihres Kontos nicht geändert? Dann stellen Sie diese wieder her. Alle Sitzungen des Kontos enden, auch Ihre.',
        button: 'Diese Adresse wiederherstellen',
        done: {
          title: 'Ihre Adresse ist wiederhergestellt',
          lead: 'Alle Sitzungen sind beendet. Wählen Sie jetzt ein neues Passwort, denn wer die Adresse geändert hat, kennt vielleicht Ihres.',
        },
        dead: 'Ihre Adresse ist vielleicht schon wiederhergestellt. Wenn nicht, bitten Sie die Menschen, die Ihre Organisation verwalten, Ihr Konto zu sichern.',
      },
      factor_undo: {
        title: 'Zweiten Faktor entfernen',
        lead: 'Sie haben diesen zweiten Faktor nicht eingerichtet? Dann entfernen Sie ihn. Alle Sitzungen Ihres Kontos enden, auch Ihre.',
        button: 'Entfernen',
        done: {
          title: 'Der zweite Faktor ist entfernt',
          lead: 'Alle Sitzungen sind beendet. Wählen Sie jetzt ein neues Passwort, denn wer den Faktor eingerichtet hat, kennt Ihres.',
        },
        dead: 'Der Faktor ist vielleicht schon entfernt. Wenn nicht, bitten Sie die Menschen, die Ihre Organisation verwalten, Ihr Konto zu sichern.',
      },
      identity_undo: {
        title: 'Verknüpfung lösen',
        lead: 'Sie haben dieses Konto bei einem anderen Anbieter nicht verknüpft? Dann lösen Sie die Verknüpfung. Alle Sitzungen Ihres Kontos enden, auch Ihre.',
        button: 'Verknüpfung lösen',
        done: {
          title: 'Die Verknüpfung ist gelöst',
          lead: 'Damit ist keine Anmeldung mehr möglich, und alle Sitzungen sind beendet. Wählen Sie ein neues Passwort, wenn Sie eines haben.',
        },
        dead: 'Die Verknüpfung ist vielleicht schon gelöst. Wenn nicht, bitten Sie die Menschen, die Ihre Organisation verwalten, Ihr Konto zu sichern.',
      },
      invitation: {
        title: (tenant) => `${tenant} beitreten`,
        lead: (inviter, names) =>
          `${inviter ? `${inviter} lädt Sie ein` : 'Sie sind eingeladen'}${names.length > 0 ? `, mit ${names.length === 1 ? 'der Rolle' : 'den Rollen'} ${joined(names.map((name) => wordsOf(roles, name) ?? name))}` : ''}.`,
        join: (tenant) => `${tenant} beitreten`,
        byPasskey: 'Stattdessen mit einem Passkey beitreten',
        hasAccount:
          'Diese Adresse hat schon ein Konto. Melden Sie sich an, dann treten Sie mit einem Klick bei.',
        signIn: 'Anmelden und beitreten',
        otherAddress: (invited, own) =>
          `Die Einladung gilt für ${invited}, und Sie sind als ${own} angemeldet.`,
        signOut: 'Abmelden und weiter',
        isMember: { title: 'Sie sind schon Mitglied', lead: 'Diese Einladung brauchen Sie nicht mehr.' },
        done: {
          title: (tenant) => `Sie gehören jetzt zu ${tenant}`,
          lead: 'Sie sind angemeldet.',
          leadElsewhere: 'Melden Sie sich wie gewohnt in Ihrer Anwendung an.',
          enter: (tenant) => `Weiter zu ${tenant}`,
        },
        dead: 'Sie wurde schon verwendet, zurückgezogen oder ersetzt, oder sie ist abgelaufen. Bitten Sie die Person, die Sie eingeladen hat, sie noch einmal zu senden.',
      },
      magic_link: {
        title: 'Anmelden',
        lead: 'Der Link gilt einmal, und nur in dem Browser, in dem Sie ihn angefordert haben.',
        button: 'Anmelden',
        dead: 'Links gelten einmal und nur wenige Minuten. Fordern Sie einen neuen an.',
        elsewhere: {
          title: 'Dieser Link gehört zu einem anderen Browser',
          lead: 'Öffnen Sie ihn in dem Browser, in dem Sie ihn angefordert haben, oder fordern Sie hier einen neuen an.',
        },
        done: 'Sie sind angemeldet. Gehen Sie zurück zu dem Fenster, in dem Sie den Link angefordert haben.',
        wrong:
          'Das hat nicht geklappt. Versuchen Sie es gleich noch einmal, oder fordern Sie einen neuen Link an.',
      },
      tenant_leave: {
        title: 'Organisation verlassen',
        lead: 'Sie wurden als Mitglied hinzugefügt. Möchten Sie das nicht, verlassen Sie die Organisation. Ihr Konto bleibt, wie es ist.',
        button: 'Verlassen',
        done: { title: 'Sie haben die Organisation verlassen', lead: 'Ihr Konto bleibt, wie es ist.' },
        dead: 'Vielleicht haben Sie die Organisation schon verlassen. Wenn nicht, melden Sie sich an und verlassen Sie sie dort.',
      },
    },
    refusals: {
      invalid_credentials: () =>
        'Adresse und Passwort passen nicht zusammen. Prüfen Sie beides, oder setzen Sie das Passwort zurück.',
      otp_invalid: () => 'Dieser Code stimmt nicht oder ist abgelaufen. Nehmen Sie den neuesten.',
      passkey_invalid: () =>
        'Dieser Passkey wurde nicht angenommen: Er ist hier unbekannt, oder es hat zu lange gedauert. Versuchen Sie es noch einmal, oder machen Sie ohne ihn weiter.',
      otp_required: () => 'Sie haben noch keinen Ihrer Faktoren gezeigt. Beginnen Sie von vorn.',
      invalid_state: () => 'Diese App ist schon eingerichtet. Beginnen Sie von vorn.',
      account_locked: (wait) =>
        `Zu viele Versuche. Warten Sie ${minutes(wait)}, oder setzen Sie das Passwort zurück.`,
      throttled: (wait) => `Zu viele Versuche. Warten Sie ${minutes(wait)}.`,
      channel_disabled: () =>
        'Diese Organisation verlangt einen zweiten Faktor, und Sie haben keinen, der hier gilt. Wenden Sie sich an die Menschen, die sie verwalten.',
      no_active_membership: () => 'Sie sind kein Mitglied dieser Organisation mehr.',
      tenant_suspended: () =>
        'Diese Organisation ist gesperrt. Wenden Sie sich an die Menschen, die sie verwalten.',
      tenant_archived: () =>
        'Diese Organisation ist geschlossen. Wenden Sie sich an die Menschen, die sie verwaltet haben.',
      token_not_valid: () => 'Das hat zu lange gedauert. Beginnen Sie von vorn.',
      not_authenticated: () => 'Das hat zu lange gedauert. Beginnen Sie von vorn.',
      session_revoked: () => 'Sie wurden abgemeldet. Beginnen Sie von vorn.',
      invitation_needed: () =>
        'Sie sind noch kein Mitglied dieser Organisation. Wenn sie Sie einladen kann, bekommen Sie eine E-Mail. Öffnen Sie den Link darin.',
      sso_required: () => 'Mitglieder dieser Organisation melden sich über deren eigenen Anmeldedienst an.',
      sign_in_refused: () => 'Dieses Konto kann sich hier nicht anmelden.',
      state_not_valid: () =>
        'Diese Antwort gehört zu einem anderen Browser, wurde schon verwendet oder ist zu alt. Beginnen Sie von vorn.',
      overtaken: () => 'Das wurde inzwischen geändert. Beginnen Sie von vorn.',
      form_not_valid: () =>
        'Dieses Formular gehört zu einem anderen Browser oder ist zu alt. Beginnen Sie von vorn.',
      form_expired: () =>
        'Seit dem Öffnen der Seite sind mehr als 15 Minuten vergangen. Beginnen Sie von vorn.',
      cross_site_request: () =>
        'Dieses Formular kam von einer anderen Website und wurde nicht angenommen. Beginnen Sie von vorn.',
      email_mismatch: () => 'Diese Einladung gilt für eine andere Adresse als Ihre.',
      last_owner: () =>
        'Jede Organisation braucht einen Eigentümer, und Sie sind der letzte. Geben Sie diese Rolle zuerst einem anderen Mitglied.',
      not_found: () => 'Diese Seite gibt es nicht.',
      overloaded: () => 'Gerade melden sich viele an. Versuchen Sie es gleich wieder.',
      dependency_unavailable: () =>
        'Der Dienst ist gerade nicht vollständig. Versuchen Sie es gleich wieder.',
      internal_error: () => 'Der Dienst hat versagt. Der Fehler ist notiert. Versuchen Sie es gleich wieder.',
    },
    otherRefusal: () => 'Das wurde abgelehnt. Beginnen Sie von vorn.',
    faults: {
      'user_code.unknown':
        'Kein Gerät wartet mit diesem Code. Prüfen Sie ihn, oder beginnen Sie am Gerät neu.',
      'email.invalid': 'Das ist keine E-Mail-Adresse. Sie sieht aus wie ada@example.com.',
      'current_password.wrong_password': 'Das ist nicht Ihr Passwort.',
      'password.invalid': 'Ein Passwort hat 8 bis 128 Zeichen.',
      'password.too_common':
        'Dieses Passwort kennen Angreifer: Es wurde anderswo gestohlen. Wählen Sie ein anderes.',
      'password.too_close':
        'Ein Passwort darf weder Ihr Name noch Ihre Adresse sein, und auch nicht der Name einer Organisation oder dieses Dienstes. Wählen Sie ein anderes.',
      required: 'Hier fehlt etwas.',
      too_small: 'Hier fehlt etwas.',
      too_big: 'Dieser Text ist zu lang.',
    },
    otherFault: () => 'Das passt hier nicht.',
  },
}

const minutes = (wait: number) => lasts(Math.max(1, Math.ceil(wait / 60)))
