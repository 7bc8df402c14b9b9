package step

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// Login is how a client connects to a secured broker; librdkafka's names, and a token for OAUTHBEARER.
type Login struct {
	Name        string `json:"-"`
	Servers     string `json:"bootstrap.servers"`
	Mechanism   string `json:"sasl.mechanism"`
	User        string `json:"sasl.username"`
	Password    string `json:"sasl.password"`
	Token       string `json:"token"`
	Authority   string `json:"ssl.ca.pem"`
	Certificate string `json:"ssl.certificate.pem"`
	Key         string `json:"ssl.key.pem"`
}

// Logins reads the files in a folder, in the order of their names.
func Logins(folder string) []Login {
	logins := []Login{}
	for _, file := range Must(filepath.Glob(filepath.Join(folder, "*.json"))) {
		login := Login{Name: strings.TrimSuffix(filepath.Base(file), ".json")}
		Check(json.Unmarshal(Must(os.ReadFile(file)), &login))
		logins = append(logins, login)
	}
	sort.Slice(logins, func(one, other int) bool { return logins[one].Name < logins[other].Name })
	return logins
}

// TLS is nil for a broker without TLS.
func (login Login) TLS() *tls.Config {
	if login.Authority == "" {
		return nil
	}
	authorities := x509.NewCertPool()
	Holds("an authority", authorities.AppendCertsFromPEM([]byte(login.Authority)))
	config := &tls.Config{RootCAs: authorities}
	if login.Key != "" {
		pair := Must(tls.X509KeyPair([]byte(login.Certificate), []byte(login.Key)))
		config.Certificates = []tls.Certificate{pair}
	}
	return config
}
